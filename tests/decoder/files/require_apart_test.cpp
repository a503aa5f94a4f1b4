#include "decoder/files/require_apart.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::require_input_error;
using test::Scratch;

TEST_CASE("outputs that would overwrite each other are refused by name") {
  const Scratch scratch;
  const std::string a = (scratch / "a").string();
  std::filesystem::create_symlink("a", scratch / "link");
  const std::string link = (scratch / "link").string();
  const std::string dots = (scratch / "x/../a").string();
  std::filesystem::create_directory(scratch / "x");
  for (const std::string& other : {a, link, dots}) {
    CAPTURE(other);
    require_input_error(
        [&] {
          require_apart({{"-o", a}, {"--stats", other}}, {});
        },
        {"--stats " + other, "expected another file than -o " + a});
  }
  require_input_error(
      [&] {
        require_apart({{"-o", "-"}, {"--stats", "/dev/stdout"}}, {});
      },
      {"--stats /dev/stdout"});
  require_input_error(
      [&] {
        require_apart(
            {{"--stats", (scratch / "frames/s.json").string()}, {"-o", (scratch / "frames/").string()}}, {});
      },
      {"--stats", "lies inside -o"});
  CHECK_NOTHROW(
      require_apart({{"-o", "/dev/null"}, {"--stats", "/dev/null"}, {"--trace", ""}, {"--csv", ""}}, {}));
  CHECK_NOTHROW(require_apart({{"-o", a}, {"--stats", a + ".json"}}, {}));
}

TEST_CASE("outputs that would overwrite an input are refused by name") {
  const Scratch scratch;
  const std::string latent = scratch.write("latent.npy", "x").string();
  std::filesystem::create_directory(scratch / "vae");
  const std::string vae = (scratch / "vae").string();
  const std::string weights = scratch.write("vae/diffusion_pytorch_model.safetensors", "x").string();
  std::filesystem::create_symlink("latent.npy", scratch / "link.npy");
  require_input_error(
      [&] {
        require_apart({{"-o", latent}}, {{"--latent", latent}});
      },
      {"-o " + latent, "would overwrite the input of --latent"});
  require_input_error(
      [&] {
        require_apart({{"-o", (scratch / "link.npy").string()}}, {{"--latent", latent}});
      },
      {"would overwrite"});
  require_input_error(
      [&] {
        require_apart({{"-o", latent}}, {{"--latent", (scratch / "link.npy").string()}});
      },
      {"would overwrite"});
  require_input_error(
      [&] {
        require_apart({{"-o", weights}}, {{"--model", vae}});
      },
      {"would overwrite a file of --model"});
  require_input_error([&] { require_apart({{"-o", vae}}, {{"--model", vae + "/"}}); }, {"would overwrite"});
  CHECK_NOTHROW(require_apart({{"-o", vae + "/picture.png"}}, {{"--model", vae}}));
  CHECK_NOTHROW(require_apart({{"-o", vae + "/new.safetensors"}}, {{"--model", vae}}));
  CHECK_NOTHROW(
      require_apart({{"-o", (scratch / "p.png").string()}}, {{"--model", "sdxl"}, {"--latent", ""}}));
}

TEST_CASE("hard links, links into folders and files of a pipeline or an index count as inputs") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch / "pipeline/vae");
  std::filesystem::create_directory(scratch / "blobs");
  scratch.write("pipeline/model_index.json", "{}");
  scratch.write("pipeline/vae/config.json", "{}");
  scratch.write("pipeline/vae/diffusion_pytorch_model.safetensors.index.fp16.json", "{}");
  const std::string blob = scratch.write("blobs/abc", "x").string();
  std::filesystem::create_symlink(blob, scratch / "pipeline/vae/model-1.safetensors");
  std::filesystem::create_hard_link(blob, scratch / "hard.png");
  std::filesystem::create_directory_symlink("pipeline/vae", scratch / "short");
  const std::vector<NamedFile> pipeline{{"--model", (scratch / "pipeline").string()}};
  for (const char* name :
       {"blobs/abc", "hard.png", "short/config.json", "pipeline/model_index.json",
        "short/model-1.safetensors", "pipeline/vae/diffusion_pytorch_model.safetensors.index.fp16.json"}) {
    CAPTURE(name);
    const std::string output = (scratch / name).string();
    require_input_error(
        [&] {
          require_apart({{"-o", output}}, pipeline);
        },
        {"-o " + output + ": would overwrite a file of --model"});
  }
  const std::string config = (scratch / "pipeline/vae/config.json").string();
  require_input_error(
      [&] {
        require_apart({{"-o", config}},
                      {{"--model", (scratch / "pipeline/vae/model-1.safetensors").string()}});
      },
      {"would overwrite a file of --model"});
  require_input_error(
      [&] {
        require_apart({{"-o", (scratch / "hard.png").string()}, {"--stats", blob}}, {});
      },
      {"--stats", "expected another file than"});
}

}  // namespace
}  // namespace headroom
