#include "profiler/eager/recording_file.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/base/errors.h"
#include "tests/profiler/eager/recording_json.h"

namespace headroom::profiler {
namespace {

using nlohmann::json;

EagerRecording made_up() {
  EagerRecording recording{.model = "vae",
                           .class_name = "AutoencoderKL",
                           .dtype = Dtype::bf16,
                           .device_kind = DeviceKind::cuda,
                           .device = "a card",
                           .libraries = "LibTorch 2.11.0",
                           .threads = 2,
                           .weights_bytes = 1000,
                           .decodes = {}};
  RecordedEagerDecode decode{.width_pixels = 64,
                             .height_pixels = 32,
                             .frames = 5,
                             .batch = 2,
                             .peak_bytes = 5000,
                             .peak_layer = "conv",
                             .peak_live = {{"workspace", 4000}, {"weights", 1000}},
                             .counted_peak_bytes = 4900,
                             .smallest_limit_bytes = 2000,
                             .seconds = 0.5,
                             .layers = {{"conv", "conv", 100, 4000, 5000, 0.5}},
                             .moment_seconds = {0, 0.25},
                             .moment_bytes = {1000, 5000}};
  recording.decodes = {decode, decode};
  recording.decodes[1].counted_peak_bytes = recording.decodes[1].smallest_limit_bytes = 0;
  return recording;
}

EagerRecording read(const json& document) {
  return eager_recording_from_json(JsonFields(document, "eager.json"));
}

TEST_CASE("eager recording: a file gives back what was written") {
  const json document = test::to_json(made_up());
  CHECK(read(document) == made_up());
  CHECK(document["decodes"][0].contains("counted_peak_bytes"));
  CHECK_FALSE(document["decodes"][1].contains("counted_peak_bytes"));
}

TEST_CASE("eager recording: a file that is none is refused, with the key") {
  const auto refused = [](const std::string& pointer, const json& value) {
    json document = test::to_json(made_up());
    document[json::json_pointer(pointer)] = value;
    try {
      read(document);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(refused("/schema", "headroom.profile"), Catch::Contains("headroom.recording"));
  CHECK_THAT(refused("/version", 2), Catch::Contains("version"));
  CHECK_THAT(refused("/dtype", "fp8"), Catch::Contains("dtype") && Catch::Contains("expected"));
  CHECK_THAT(refused("/device_kind", "tpu"), Catch::Contains("device_kind"));
  CHECK_THAT(refused("/threads", 0), Catch::Contains("threads"));
  CHECK_THAT(refused("/decodes", json::array()), Catch::Contains("at least one decode"));
  const std::string first = "/decodes/0/";
  CHECK_THAT(refused(first + "peak_bytes", -1), Catch::Contains("decodes[0].peak_bytes"));
  CHECK_THAT(refused(first + "seconds", -0.5), Catch::Contains("decodes[0].seconds"));
  CHECK_THAT(refused(first + "layers/0/live_bytes", 1e300), Catch::Contains("layers[0].live_bytes"));
  CHECK_THAT(refused(first + "timeline/seconds", {0}), Catch::Contains("timeline.live_bytes"));
  CHECK_THAT(refused(first + "timeline/seconds", {1, 0}), Catch::Contains("timeline.seconds[1]"));
  CHECK_THAT(refused(first + "layers", "many"), Catch::Contains("layers"));
  CHECK_THAT(refused(first + "peak_live/0/name", 7), Catch::Contains("peak_live[0].name"));
  const json whole = test::to_json(made_up());
  for (const auto& [key, value] : whole.items()) {
    CAPTURE(key);
    json without = whole;
    without.erase(key);
    CHECK_THROWS_AS(read(without), InputError);
  }
}

}  // namespace
}  // namespace headroom::profiler
