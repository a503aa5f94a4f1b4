#include "profiler/profile/profile_file.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/base/os/whole_file.h"
#include "tests/decoder/files/scratch.h"

namespace headroom::profiler {
namespace {

using nlohmann::json;
using test::require_input_error;

Profile sample() {
  Profile profile;
  profile.model = "sdxl";
  profile.dtype = Dtype::bf16;
  profile.device = "a processor, 2 threads";
  profile.libraries = "LibTorch 2.11.0, oneDNN 3.10.2";
  profile.weights_bytes = int64_t{1} << 40;
  profile.outside_bytes = 123;
  profile.sizes = {{256, 128, 1, 2, 1000, 0.1, "decoder.conv_in", {{"weights", 700}, {"workspace", 300}}},
                   {512, 512, 1, 1, int64_t{1} << 35, 1.0 / 3, "decoder.conv_out", {}}};
  profile.layers = {
      {"decoder.conv_in", "conv", {{10, 20, 30, 0.25, 1e9}, {40, 50, 60, 0.1 + 0.2, 4e9}}, "conv 3x3 4->8"},
      {"decoder.conv_out", "conv", {{1, 2, 3, 0, 0}, {int64_t{1} << 33, 5, 6, 1e-7, 1e15}}, "conv 3x3 8->3"}};
  profile.threads = 2;
  profile.weights_bytes_per_second = 1e9 / 3;
  profile.transform_bytes_per_second = 1e10 / 3;
  profile.weights_source = "files";
  profile.to_host_bytes_per_second = 1e10 / 3;
  profile.from_host_bytes_per_second = 2e10 / 3;
  profile.scratch_folder = "/scratch";
  profile.scratch_write_bytes_per_second = 1e8 / 7;
  profile.scratch_read_bytes_per_second = 2e8;
  profile.latency_tables = {{"conv 3x3 4->8",
                             {1, 4, 64},
                             {4, 32},
                             {1e-6, 0.1, 0.2, 0.3, 0.4, 1.0 / 3},
                             {0, 1, 2, 3, 4, int64_t{1} << 40},
                             3,
                             0.05},
                            {"conv 3x3 8->3", {7}, {9}, {0.5}, {0}, 0, 0}};
  profile.engines = {{"fp16 4->8", "cuDNN 41 k2=1", 1.0 / 3, "cuDNN 41 k2=0", 0.5},
                     {"fp16 8->3", "cuDNN 10 k2=2", 1e-6, "cuDNN 10 k2=2", 1e-6}};
  return profile;
}

Profile read(const json& document) {
  return profile_from_json(JsonFields(document, "profile.json"));
}

TEST_CASE("a profile is read as it was written") {
  const test::Scratch scratch;
  const Profile profile = sample();
  CHECK(read(to_json(profile)) == profile);
  write_file_whole(scratch / "profile.json", to_json(profile).dump());
  CHECK(read_profile(scratch / "profile.json") == profile);
}

TEST_CASE("a profile says on which kind of device it was measured") {
  Profile profile = sample();
  json document = to_json(profile);
  CHECK(document["device_kind"] == "cpu");
  document["device_kind"] = "gpu";
  require_input_error([&] { read(document); },
                      {"profile.json: device_kind: expected cpu or cuda, found \"gpu\""});
  profile.device_kind = DeviceKind::cuda;
  document = to_json(profile);
  CHECK(document["device_kind"] == "cuda");
  CHECK(read(document) == profile);
}

TEST_CASE("a profile of an encoder says so") {
  Profile profile = sample();
  CHECK_FALSE(to_json(profile).contains("direction"));
  profile.direction = Direction::encode;
  json document = to_json(profile);
  CHECK(document["direction"] == "encode");
  CHECK(read(document) == profile);
  document["direction"] = "sideways";
  require_input_error([&] { read(document); },
                      {"profile.json: direction: expected one of decode, encode, found \"sideways\""});
}

TEST_CASE("rates of a link are there where they were measured") {
  Profile profile = sample();
  const json measured = to_json(profile);
  CHECK(measured["to_host_bytes_per_second"] == profile.to_host_bytes_per_second);
  CHECK(measured["from_host_bytes_per_second"] == profile.from_host_bytes_per_second);
  profile.to_host_bytes_per_second = profile.from_host_bytes_per_second = 0;
  const json document = to_json(profile);
  CHECK_FALSE(document.contains("to_host_bytes_per_second"));
  CHECK_FALSE(document.contains("from_host_bytes_per_second"));
  CHECK(read(document) == profile);
}

TEST_CASE("a profile has the keys that others read") {
  const json document = to_json(sample());
  CHECK(document["schema"] == "headroom.profile");
  CHECK(document["version"] == 3);
  for (const char* key :
       {"model", "dtype", "device", "libraries", "weights_bytes", "outside_bytes", "sizes", "layers",
        "latency_tables", "threads", "weights_bytes_per_second", "weights_source", "scratch"}) {
    CHECK(document.contains(key));
  }
  for (const json& layer : document["layers"]) {
    CHECK(layer["name"].is_string());
    CHECK(layer["latency_table"].is_string());
    for (const char* key : {"activation_bytes", "workspace_bytes", "live_bytes", "seconds", "flops"}) {
      CHECK(layer[key].size() == document["sizes"].size());
    }
  }
}

TEST_CASE("the table has one line per layer and size") {
  const Profile profile = sample();
  const std::string csv = layers_csv(profile);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 4);
  CHECK_THAT(csv, Catch::StartsWith("layer,kind,width_pixels,height_pixels,activation_bytes,"));
  CHECK_THAT(csv, Catch::Contains("decoder.conv_in,conv,256,128,10,20,30,0.25,"));
  CHECK_THAT(csv, Catch::Contains("decoder.conv_out,conv,512,512,8589934592,"));
}

TEST_CASE("hostile profiles are refused by file and key") {
  const json good = to_json(sample());
  const auto refused = [&](const json::json_pointer& at, const json& value,
                           const std::vector<std::string>& parts) {
    json document = good;
    document[at] = value;
    CAPTURE(at.to_string(), value.dump());
    require_input_error([&] { read(document); }, parts);
  };
  const auto pointer = [](const char* text) { return json::json_pointer(text); };
  refused(pointer("/schema"), "headroom.plan", {"profile.json: schema"});
  refused(pointer("/version"), 4, {"profile.json: version", "newer"});
  refused(pointer("/dtype"), "fp64", {"profile.json: dtype"});
  refused(pointer("/model"), 3, {"profile.json: model"});
  refused(pointer("/weights_bytes"), -1, {"profile.json: weights_bytes"});
  refused(pointer("/outside_bytes"), 1e300, {"profile.json: outside_bytes"});
  refused(pointer("/sizes"), json::array(), {"profile.json: sizes"});
  refused(pointer("/sizes"), json::object(), {"profile.json: sizes", "array"});
  refused(pointer("/sizes/0/width_pixels"), 0, {"profile.json: sizes[0].width_pixels"});
  refused(pointer("/sizes/1/batch"), INT64_MAX, {"profile.json: sizes[1].batch"});
  refused(pointer("/sizes/1/seconds"), -0.5, {"profile.json: sizes[1].seconds"});
  refused(pointer("/sizes/0/peak_live/1/bytes"), "x", {"profile.json: sizes[0].peak_live[1].bytes"});
  refused(pointer("/layers/0/seconds"), json::array({1}), {"profile.json: layers[0].seconds", "2"});
  refused(pointer("/layers/0/seconds"), json(), {"profile.json: layers[0].seconds", "array"});
  refused(pointer("/layers/1/seconds/1"), "fast", {"profile.json: layers[1].seconds[1]"});
  refused(pointer("/layers/1/flops/0"), -1, {"profile.json: layers[1].flops[0]"});
  refused(pointer("/layers/1/workspace_bytes/0"), UINT64_MAX, {"profile.json: layers[1].workspace_bytes[0]"});
  refused(pointer("/threads"), 0, {"profile.json: threads"});
  refused(pointer("/weights_bytes_per_second"), -1, {"profile.json: weights_bytes_per_second"});
  refused(pointer("/to_host_bytes_per_second"), 0, {"profile.json: to_host_bytes_per_second", "above 0"});
  refused(pointer("/to_host_bytes_per_second"), 1e300, {"profile.json: to_host_bytes_per_second", "1e15"});
  refused(pointer("/from_host_bytes_per_second"), -1, {"profile.json: from_host_bytes_per_second"});
  refused(pointer("/from_host_bytes_per_second"), "x", {"profile.json: from_host_bytes_per_second"});
  refused(pointer("/scratch/scratch_read_bytes_per_second"), 0,
          {"profile.json: scratch.scratch_read_bytes_per_second"});
  refused(pointer("/layers/0/latency_table"), "conv 9x9", {"profile.json: layers[0].latency_table"});
  refused(pointer("/latency_tables"), json::object(), {"profile.json: latency_tables", "array"});
  refused(pointer("/latency_tables/0/rows"), json::array(), {"profile.json: latency_tables[0].rows"});
  refused(pointer("/latency_tables/0/rows/1"), 1, {"profile.json: latency_tables[0].rows[1]"});
  refused(pointer("/latency_tables/0/columns/0"), 0, {"profile.json: latency_tables[0].columns[0]"});
  refused(pointer("/latency_tables/0/rows"), json::array({1, 4}),
          {"profile.json: latency_tables[0].seconds", "4"});
  refused(pointer("/latency_tables/0/seconds/2"), 0, {"profile.json: latency_tables[0].seconds[2]"});
  refused(pointer("/latency_tables/0/seconds/2"), 1e300, {"profile.json: latency_tables[0].seconds[2]"});
  refused(pointer("/latency_tables/0/workspace_bytes/2"), -1,
          {"profile.json: latency_tables[0].workspace_bytes[2]"});
  refused(pointer("/latency_tables/0/held_out_error"), -1,
          {"profile.json: latency_tables[0].held_out_error"});
  refused(pointer("/engines/1/problem"), "fp16 4->8", {"profile.json: engines[1].problem"});
  refused(pointer("/latency_tables/1/name"), "conv 3x3 4->8", {"profile.json: latency_tables[1].name"});
  for (const auto& entry : good.items()) {
    // There only where it was measured.
    if (entry.key() == "scratch" || entry.key() == "engines" ||
        entry.key().find("_host_") != std::string::npos)
      continue;
    json document = good;
    document.erase(entry.key());
    require_input_error([&] { read(document); }, {"profile.json: " + entry.key() + ": missing"});
  }
  require_input_error([] { read_profile("no-such-profile.json"); }, {"no-such-profile.json: no such file"});
}

TEST_CASE("a profile of no layers can be read again") {
  Profile profile = sample();
  profile.layers.clear();
  CHECK(read(to_json(profile)) == profile);
}

}  // namespace
}  // namespace headroom::profiler
