#include "decoder/plan/stats_file.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

namespace headroom {
namespace {

using nlohmann::json;

RunStats sample() {
  RunStats stats;
  stats.limit_bytes = 1000;
  stats.predicted_peak_bytes = 900;
  stats.peak_bytes = 880;
  stats.pool_peak_bytes = 870;
  stats.outside_bytes = 10;
  stats.rss_growth_bytes = -4096;
  stats.predicted_seconds = 0.1 + 0.2;
  stats.seconds = 1.0 / 3;
  stats.output_wait_seconds = 0.125;
  stats.scratch_written_bytes = 4096;
  stats.scratch_read_bytes = 8192;
  stats.transfer_wait_seconds = 0.25;
  stats.passes = {{"conv_in", 800, 790, 0.1, 0.11}, {"residual", 900, 880, 0.2, 0.22}};
  stats.device = "cpu";
  stats.libraries = "LibTorch 2.11.0";
  stats.threads = 2;
  return stats;
}

RunStats read(const json& document) {
  return stats_from_json(JsonFields(document, "stats.json"));
}

void refuses_at(const std::string& pointer, const json& value, const std::string& start) {
  RunStats stats = sample();
  stats.verification = Verification{"untiled", 1e-5, 1e-6, 3.2, 120};
  json document = to_json(stats);
  document[json::json_pointer(pointer)] = value;
  INFO(pointer);
  CHECK_THROWS_WITH(read(document), Catch::StartsWith("stats.json: " + start));
  CHECK_THROWS_AS(read(document), InputError);
}

TEST_CASE("stats file: statistics come back as they were", "[unit][stats_file]") {
  RunStats stats = sample();
  CHECK(read(to_json(stats)) == stats);
  stats.verification = Verification{"the untiled decode", 2.4e-5, 7.5e-6, 3.2, 101.5};
  CHECK(read(to_json(stats)) == stats);
  stats.verification->psnr_db = std::numeric_limits<double>::infinity();
  CHECK(to_json(stats)["verification"]["psnr_db"].is_null());
  CHECK(read(to_json(stats)) == stats);
  stats.tf32 = {.convolutions = true, .products = false};
  CHECK(to_json(stats)["tf32"] == "convolutions");
  CHECK(read(to_json(stats)) == stats);
  stats.parts = {{"convolution", 0.25}, {"copies", 0.5}};
  stats.engines = {{"cuDNN 41", false, 250}, {"cuDNN 7", true, 2}, {"own kernels", false, 1}};
  stats.to_host_bytes = 1 << 20;
  stats.from_host_bytes = 1 << 21;
  stats.host_weights_bytes = 1 << 22;
  CHECK(read(to_json(stats)) == stats);

  const auto path =
      std::filesystem::temp_directory_path() / ("headroom-stats-file-test-" + std::to_string(getpid()));
  write_stats(path, stats);
  CHECK(read_stats(path) == stats);
  std::filesystem::remove(path);
  CHECK_THROWS_AS(read_stats(path), InputError);
}

TEST_CASE("stats file: the keys that others read", "[unit][stats_file]") {
  const json document = to_json(sample());
  CHECK(document["schema"] == "headroom.stats");
  CHECK(document["version"] == 1);
  for (const char* key :
       {"limit_bytes", "predicted_peak_bytes", "peak_bytes", "rss_growth_bytes", "seconds"}) {
    CHECK(document[key].is_number());
  }
  for (const char* key : {"predicted_peak_bytes", "peak_bytes", "predicted_seconds", "seconds"}) {
    CHECK(document["passes"][1][key].is_number());
  }
  CHECK_FALSE(document.contains("verification"));
  CHECK_FALSE(document.contains("decodes"));
  CHECK_FALSE(document.contains("engines"));
}

TEST_CASE("stats file: a queue's decodes come back, and their wrong values are refused",
          "[unit][stats_file]") {
  RunStats stats = sample();
  stats.passes.clear();
  stats.queue =
      QueueStats{{{"a", 0, 0, 1, 0.5, 800, 790, 5000, -10, 0.25}, {"b", 3, 2, 0, 0.25, 700, 680, 5100, 20}},
                 4000,
                 1,
                 0,
                 30};
  const json document = to_json(stats);
  CHECK(read(document) == stats);
  CHECK(document["decodes"][1]["outside_growth_bytes"] == 20);
  const auto refuses = [&](const char* pointer, const json& value, const std::string& start) {
    json changed = document;
    changed[json::json_pointer(pointer)] = value;
    CHECK_THROWS_WITH(read(changed), Catch::StartsWith("stats.json: " + start));
  };
  refuses("/decodes", 5, "decodes: expected an array");
  refuses("/decodes/1", json::object(), "decodes[1].name: missing");
  refuses("/decodes/1/peak_bytes", -1, "decodes[1].peak_bytes");
  refuses("/decodes/0/plan", "first", "decodes[0].plan");
  refuses("/pool_allocations", nullptr, "pool_allocations");
  refuses("/pool_growth_bytes", 0.5, "pool_growth_bytes");
}

TEST_CASE("stats file: wrong values are refused by their path", "[unit][stats_file]") {
  refuses_at("/version", 2, "version: written by a newer Headroom: version 2");
  refuses_at("/schema", "headroom.plan", "schema: expected \"headroom.stats\"");
  refuses_at("/peak_bytes", -1, "peak_bytes: expected an integer");
  refuses_at("/peak_bytes", UINT64_MAX, "peak_bytes: expected an integer");
  refuses_at("/seconds", "fast", "seconds: expected a number");
  refuses_at("/seconds", -0.5, "seconds: expected a number of at least 0");
  refuses_at("/threads", 1e9, "threads: expected an integer");
  refuses_at("/device", nullptr, "device: expected a string");
  refuses_at("/passes", 3, "passes: expected an array");
  refuses_at("/passes/1/seconds", nullptr, "passes[1].seconds: expected a number");
  refuses_at("/passes/1", json::object(), "passes[1].name: missing");
  refuses_at("/verification", json::object(), "verification.compared_with: missing");
  refuses_at("/verification/psnr_db", "inf", "verification.psnr_db: expected a number");

  const json document = to_json(sample());
  for (const auto& item : document.items()) {
    const bool optional = item.key().starts_with("scratch_") || item.key().starts_with("transfer_") ||
                          item.key().starts_with("output_");
    if (optional || item.key() == "verification") continue;
    json less = document;
    less.erase(item.key());
    CHECK_THROWS_WITH(read(less), Catch::StartsWith("stats.json: " + item.key() + ": missing"));
  }
}

}  // namespace
}  // namespace headroom
