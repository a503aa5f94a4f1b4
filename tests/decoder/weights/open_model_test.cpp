#include "decoder/weights/open_model.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/base/errors.h"
#include "decoder/families/load_model.h"
#include "decoder/operations/operation.h"
#include "decoder/weights/weight_files.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::require_input_error;
using test::Scratch;

/// The header of a checkpoint: names, and the shapes of fp16 tensors.
class Checkpoint {
 public:
  void add(const std::string& name, const std::vector<int64_t>& shape) {
    if (header_.contains(name)) return;  // of query, key and value in one
    int64_t bytes = 2;
    for (const int64_t length : shape) bytes *= length;
    header_[name] = {{"dtype", "F16"}, {"shape", shape}, {"data_offsets", {bytes_, bytes_ + bytes}}};
    bytes_ += bytes;
  }
  void add_decoder(const Model& model) {
    for (const Op& op : model.graph.ops()) {
      for (const Parameter& parameter : parameters_of(model.graph, op)) add(parameter.name, parameter.shape);
    }
  }
  /// Without the numbers themselves: a hole in the file.
  std::string write(const Scratch& scratch, const std::string& name) const {
    const std::string start = test::safetensors_bytes(header_.dump(), "");
    const std::filesystem::path file = scratch.write(name, start);
    std::filesystem::resize_file(file, start.size() + static_cast<size_t>(bytes_));
    return file;
  }

 private:
  json header_ = json::object();
  int64_t bytes_ = 0;
};

/// A decoder as the original Stable Diffusion stores it, with attention as 1×1 convolutions.
Checkpoint original_names(const std::string& prefix, int64_t latent_channels, bool post_quant) {
  Checkpoint checkpoint;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    checkpoint.add(prefix + name + ".weight", shape);
    checkpoint.add(prefix + name + ".bias", {shape[0]});
  };
  const auto add_block = [&](const std::string& name, int64_t from, int64_t to) {
    add(name + ".norm1", {from});
    add(name + ".conv1", {to, from, 3, 3});
    add(name + ".norm2", {to});
    add(name + ".conv2", {to, to, 3, 3});
    if (from != to) add(name + ".nin_shortcut", {to, from, 1, 1});
  };
  if (post_quant) add("post_quant_conv", {latent_channels, latent_channels, 1, 1});
  add("decoder.conv_in", {512, latent_channels, 3, 3});
  add_block("decoder.mid.block_1", 512, 512);
  add_block("decoder.mid.block_2", 512, 512);
  add("decoder.mid.attn_1.norm", {512});
  for (const char* part : {"q", "k", "v", "proj_out"})
    add(std::string("decoder.mid.attn_1.") + part, {512, 512, 1, 1});
  const int64_t channels[] = {128, 256, 512, 512};
  int64_t before = 512;
  for (int level = 3; level >= 0; --level) {
    const std::string up = "decoder.up." + std::to_string(level);
    for (int block = 0; block < 3; ++block) {
      add_block(up + ".block." + std::to_string(block), block == 0 ? before : channels[level],
                channels[level]);
    }
    before = channels[level];
    if (level > 0) add(up + ".upsample.conv", {before, before, 3, 3});
  }
  add("decoder.norm_out", {128});
  add("decoder.conv_out", {3, 128, 3, 3});
  return checkpoint;
}

TEST_CASE("a checkpoint whose shapes leave no doubt needs no config") {
  const Scratch scratch;
  for (const char* name : {"taesd", "taef1", "sana-dc-ae-f32c32", "wan2.1-upscale2x", "wan2.2"}) {
    Checkpoint checkpoint;
    checkpoint.add_decoder(resolve_model(name));
    CHECK(open_model(checkpoint.write(scratch, "vae.safetensors")).name == name);
  }
}

TEST_CASE("a checkpoint of shapes that several models have is asked for by name") {
  const Scratch scratch;
  const auto refuses = [&](const Checkpoint& checkpoint, const std::vector<std::string>& parts) {
    const std::string file = checkpoint.write(scratch, "vae.safetensors");
    require_input_error([&] { open_model(file); }, parts);
  };
  refuses(original_names("", 4, true),
          {"vae.safetensors: sd15 or sdxl", "--model sd15 --weights", "config.json"});
  refuses(original_names("vae.", 16, false), {"flux or sd3"});
  Checkpoint diffusers;
  diffusers.add_decoder(resolve_model("sdxl"));
  refuses(diffusers, {"sd15 or sdxl"});
}

TEST_CASE("a whole pipeline's checkpoint says of which it is") {
  const Scratch scratch;
  const auto of = [&](Checkpoint checkpoint, const std::string& module) {
    checkpoint.add(module + "weight", {2, 2});
    return open_model(checkpoint.write(scratch, "all.safetensors")).name;
  };
  const std::string stage = "first_stage_model.";
  CHECK(of(original_names(stage, 4, true), "conditioner.embedders.0.") == "sdxl");
  CHECK(of(original_names(stage, 4, true), "cond_stage_model.transformer.") == "sd15");
  CHECK(of(original_names(stage, 16, false), "model.diffusion_model.joint_blocks.0.") == "sd3");
  CHECK(of(original_names("vae.", 16, false), "model.diffusion_model.double_blocks.0.") == "flux");
  const WeightFiles files(scratch / "all.safetensors");
  CHECK(files.contains("decoder.up_blocks.0.resnets.0.conv1.weight"));
}

TEST_CASE("what a model would leave out of a checkpoint, it is not the model of") {
  const Scratch scratch;
  const std::string file = original_names("", 16, true).write(scratch, "vae.safetensors");
  require_input_error([&] { open_model(file); },
                      {"no built-in model", "config.json beside the file, or give", "--weights"});
  scratch.write("config.json", R"({"_class_name": "AutoencoderOobleck"})");
  require_input_error([&] { open_model(file); },
                      {"no built-in model", "the one there is for an unsupported decoder"});
}

TEST_CASE("a decoder's config beside a checkpoint is its own, another's is not") {
  const Scratch scratch;
  const std::string file = original_names("", 4, true).write(scratch, "vae.safetensors");
  scratch.write("config.json", test::tiny_config().dump());
  CHECK(open_model(file).scaling_factor == 0.5);
  scratch.write("config.json", R"({"_class_name": "UNet2DConditionModel"})");
  require_input_error([&] { open_model(file); }, {"sd15 or sdxl"});
  scratch.write("config.json", R"({"architectures": ["T5EncoderModel"]})");
  require_input_error([&] { open_model(file); }, {"sd15 or sdxl"});
}

TEST_CASE("what is no model is refused with what would be one") {
  const Scratch scratch;
  const auto refuses = [](const std::string& argument, const std::vector<std::string>& parts) {
    require_input_error([&] { open_model(argument); }, parts);
  };
  refuses(scratch / "none.safetensors", {"none.safetensors: no such file"});
  refuses("sdxxl", {"sdxxl", "expected a folder", "checkpoint", "sdxl"});
  refuses(scratch.folder(), {"has no config.json nor vae/config.json", "save_pretrained"});
  Checkpoint other;
  other.add("lora.up.weight", {4, 4});
  refuses(other.write(scratch, "lora.safetensors"), {"lora.safetensors: has no VAE: no tensor under"});
  refuses(scratch.write("cut.safetensors", "123"), {"cut.safetensors", "too short"});
}

TEST_CASE("a file of its name does not hide a built-in model") {
  const Scratch scratch;
  scratch.write("sdxl", "notes on a model");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(scratch.folder());
  CHECK(open_model("sdxl").name == "sdxl");
  require_input_error([] { open_model("./sdxl"); }, {"./sdxl", "no .safetensors file"});
  std::filesystem::current_path(before);
}

TEST_CASE("a pipeline's folder stands for its vae, with an index or without") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch / "pipeline/vae");
  scratch.write("pipeline/vae/config.json", test::tiny_config().dump());
  CHECK(open_model(scratch / "pipeline").name == "pipeline");
  scratch.write("pipeline/model_index.json", "{}");
  CHECK(open_model(scratch / "pipeline").name == "pipeline");
  CHECK(model_folder(scratch / "pipeline") == scratch / "pipeline/vae");
}

TEST_CASE("a checkpoint is one by its content, whatever its name is") {
  const Scratch scratch;
  Checkpoint checkpoint;
  checkpoint.add_decoder(resolve_model("taesd"));
  for (const char* name : {"vae.sft", "VAE.SAFETENSORS", "4f3a", "vae.ckpt"}) {
    const std::string file = checkpoint.write(scratch, name);
    CHECK(open_model(file).name == "taesd");
    CHECK(WeightFiles(file).contains("decoder.layers.0.weight"));
  }
}

TEST_CASE("what is no .safetensors file is named by its content, with what to do") {
  const Scratch scratch;
  const std::string filler(4096, '\0');
  const auto refuses = [&](const char* name, const std::string& content,
                           const std::vector<std::string>& parts) {
    const std::string file = scratch.write(name, content + filler);
    CAPTURE(file);
    require_input_error([&] { open_model(file); }, parts);
    require_input_error([&] { WeightFiles files(file); }, parts);
  };
  for (const char* name : {"vae.ckpt", "vae.pt", "vae.bin", "vae.safetensors"}) {
    refuses(name, "PK\x03\x04", {"is a PyTorch pickle", "torch.load", "state_dict", "save_file"});
    refuses(name, "\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.", {"is a PyTorch pickle", "torch.load"});
  }
  refuses("a.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 3\n",
          {"is a Git LFS pointer", "git lfs pull"});
  refuses("b.safetensors", "<!DOCTYPE html>\n<html>", {"is a web page", "/resolve/"});
  refuses("c.safetensors", "\xef\xbb\xbf\n <HTML lang=en>", {"is a web page"});
  refuses("q.gguf", "GGUF\x03", {"is a GGUF file"});
  refuses("w.safetensors.index.json", R"({"weight_map": {}})", {"is JSON", "folder"});
  const auto empty = scratch.write("empty.safetensors", "");
  require_input_error([&] { open_model(empty); }, {"is empty"});
}

TEST_CASE("a download that is cut off is called incomplete") {
  const Scratch scratch;
  Checkpoint checkpoint;
  checkpoint.add_decoder(resolve_model("taesd"));
  const std::string file = checkpoint.write(scratch, "vae.safetensors");
  const auto whole = std::filesystem::file_size(file);
  for (const auto left : {whole - 1, whole / 2, whole / 200}) {
    std::filesystem::resize_file(file, left);
    require_input_error([&] { open_model(file); }, {"vae.safetensors: is incomplete", "download it again"});
  }
}

TEST_CASE("a checkpoint without a VAE says so, as --model and as --weights") {
  const Scratch scratch;
  Checkpoint checkpoint;
  checkpoint.add("model.diffusion_model.input_blocks.0.0.weight", {320, 4, 3, 3});
  const std::string file = checkpoint.write(scratch, "unet.safetensors");
  require_input_error([&] { open_model(file); }, {"unet.safetensors: has no VAE", "first_stage_model."});
  require_input_error([&] { WeightFiles(file).find("post_quant_conv.weight"); }, {"has no VAE"});
}

}  // namespace
}  // namespace headroom
