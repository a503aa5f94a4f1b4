#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "profiler/eager/recording_file.h"
#include "profiler/program/run.h"
#include "tests/support/model_folder.h"
#include "tests/support/program.h"
#include "tests/support/reported.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_video.h"

namespace headroom::profiler {
namespace {

using test::call;
using test::Ended;
using test::joined;
using test::require_refused;
using test::Scratch;
using test::Words;

const Words kByLibtorch{"--engine", "libtorch"};

TEST_CASE("LibTorch's own decodes are recorded, every size in every layout, whole and in tiles") {
  const Scratch scratch;
  const std::string model = test::write_model(scratch / "model", test::tiny_config(), 1);
  const std::string file = scratch / "eager.json", csv = scratch / "layers.csv";
  const Ended ended =
      call(run_profile, joined(kByLibtorch, {"--model", model, "--sizes", "16x24,32x48", "--tile", "8", "-o",
                                             file, "--csv", csv, "--threads", "2", "--repeats", "2"}));
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("16x24 nchw: ") && Catch::Contains("counted ") &&
                            Catch::Contains("32x48 channels-last in 12 tiles of 8: "));
  CHECK(scratch.files() == std::vector<std::string>{"eager.json", "layers.csv", "model"});
  const EagerRecording recording = read_eager_recording(file);
  CHECK(recording.model == model);
  CHECK(recording.class_name == "AutoencoderKL");
  CHECK(recording.threads == 2);
  CHECK_THAT(recording.libraries, Catch::StartsWith("LibTorch "));
  CHECK_THAT(recording.device, Catch::Contains("2 threads"));
  const Graph graph = resolve_model(model).graph;
  REQUIRE(recording.decodes.size() == 8);  // 16x24 has 8 rows and 12 columns: both are cut
  for (const RecordedEagerDecode& decode : recording.decodes) {
    CAPTURE(decode.width_pixels, name_of(decode.layout), decode.tile);
    REQUIRE(decode.layers.size() == graph.ops().size() + (decode.tile > 0 ? 1 : 0));
    for (size_t i = 0; i < graph.ops().size(); ++i) CHECK(decode.layers[i].name == graph.ops()[i].name);
    CHECK((decode.counted_peak_bytes > 0) == (decode.tile == 0 && decode.layout == EagerLayout::nchw));
    CHECK(decode.seconds > 0);
  }
  CHECK(test::read_bytes(csv) == layers_csv(recording));
}

TEST_CASE("clips are recorded whole and in the tiles that their class blends, in nchw alone") {
  const Scratch scratch;
  nlohmann::json config = test::tiny_wan_22_config();
  config["scale_factor_spatial"] = 8;
  const std::string model = test::write_model(scratch / "model", config, 1);
  const std::string file = scratch / "eager.json";
  const Ended ended =
      call(run_profile, joined(kByLibtorch, {"--model", model, "--sizes", "72x40", "--frames", "3", "--tile",
                                             "8", "-o", file, "--threads", "2"}));
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("72x40 nchw: ") && Catch::Contains("counted ") &&
                            Catch::Contains("72x40 nchw in 2 tiles of 8: "));
  const EagerRecording recording = read_eager_recording(file);
  REQUIRE(recording.decodes.size() == 2);
  for (const RecordedEagerDecode& decode : recording.decodes) {
    CHECK(decode.frames == 3);
    CHECK(decode.layers.back().name == "join");
  }
}

TEST_CASE("with --json LibTorch's recording stands alone on standard output, and progress has its lines") {
  const Scratch scratch;
  const std::string model = test::write_model(scratch / "model", test::tiny_config({8}), 1);
  const Words words = joined(kByLibtorch, {"--model", model, "--sizes", "8x8", "--layouts", "nchw",
                                           "--tilings", "whole", "-o", scratch / "eager.json"});
  const Ended ended = call(run_profile, joined(words, {"--json", "--progress", "lines"}));
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const nlohmann::json document = nlohmann::json::parse(ended.out);
  CHECK(document == read_json_file(scratch / "eager.json", 1 << 24));
  CHECK(document["decodes"].size() == 1);
  const test::Reported lines = test::told(ended.err);
  CHECK(std::get<RunBegun>(lines.events.front().news).model == model);
  CHECK_FALSE(lines.news<WorkDone>().empty());
  CHECK(std::get<RunEnded>(lines.events.back().news) == RunEnded{});
}

TEST_CASE("what LibTorch cannot record is refused in one line, and nothing is left") {
  const Scratch scratch;
  const std::string model = test::write_model(scratch / "model", test::tiny_config({8}), 1);
  const auto refused = [&](const Words& words, int code, const std::vector<std::string>& parts) {
    require_refused(call(run_profile, joined({"--model", model, "-o", scratch / "eager.json"}, words)), code,
                    parts);
    CHECK(scratch.files() == std::vector<std::string>{"model"});
  };
  const auto by_libtorch = [&](const Words& words, const std::vector<std::string>& parts) {
    refused(joined(kByLibtorch, words), 2, parts);
  };
  refused({"--engine", "onnx", "--sizes", "8x8"}, 2, {"--engine"});
  refused({"--sizes", "8x8", "--tile", "8"}, 2, {"--tile", "--engine libtorch"});
  refused({"--sizes", "8x8", "--layouts", "nchw"}, 2, {"--layouts", "--engine libtorch"});
  by_libtorch({}, {"--sizes"});
  by_libtorch({"--sizes", "8x8", "--quick"}, {"--quick"});
  by_libtorch({"--sizes", "8x8", "--hold-out", "16x16"}, {"--hold-out"});
  by_libtorch({"--sizes", "8x8", "--plan", "plan.json"}, {"--plan"});
  by_libtorch({"--sizes", "8x8", "--latent", "latent.npy"}, {"--latent"});
  by_libtorch({"--sizes", "8x8", "--layouts", "nhwc"}, {"--layouts", "nhwc"});
  by_libtorch({"--sizes", "8x8", "--layouts", ""}, {"--layouts"});
  by_libtorch({"--sizes", "8x8", "--tilings", "some"}, {"--tilings", "some"});
  by_libtorch({"--sizes", "8x8", "--tile", "6"}, {"--tile", "multiple of 4"});
  by_libtorch({"--sizes", "8x8", "--tilings", "tiles"}, {"--tilings", "larger than a tile"});
  by_libtorch({"--sizes", "8x"}, {"--sizes"});
  by_libtorch({"--sizes", "8x8", "--weights", scratch / "none"}, {"none"});
  // Here LibTorch has no GPU, or the one that it has is used.
  const Ended on_gpu = call(run_profile, joined(kByLibtorch, {"--model", model, "--sizes", "8x8", "--device",
                                                              "cuda", "-o", scratch / "eager.json"}));
  CAPTURE(on_gpu.err);
  CHECK((on_gpu.code == 0 || on_gpu.code == 5));
  if (on_gpu.code == 5) {
    CHECK_THAT(on_gpu.err, Catch::Contains("LibTorch"));
    CHECK(scratch.files() == std::vector<std::string>{"model"});
  }
}

}  // namespace
}  // namespace headroom::profiler
