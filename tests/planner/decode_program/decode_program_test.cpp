#include "planner/decode_program/run.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

#include "decoder/base/json_fields.h"
#include "decoder/files/latent_file.h"
#include "decoder/plan/plan_file.h"
#include "tests/planner/decode_program/ready_decode.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::call;
using test::Ended;
using test::joined;
using test::ReadyDecode;
using test::require_refused;
using test::Words;

TEST_CASE("help and version") {
  const Ended help = call(run_decode, {"--help"});
  CHECK(help.code == 0);
  CHECK(help.err.empty());
  CHECK_THAT(help.out, Catch::Contains("--plan") && Catch::Contains("--limit") &&
                           Catch::Contains("--latent-scale") && Catch::Contains("Exit codes"));
  CHECK(call(run_decode, {"--version"}).out == std::string("headroom-decode ") + HEADROOM_VERSION + "\n");
  require_refused(call(run_decode, {"queue", "--help"}), 2,
                  {"unknown command 'queue'; the commands are encode, stream", "headroom-decode --queue"});
}

TEST_CASE("a decode writes its output, its statistics and nothing else") {
  const ReadyDecode ready;
  const std::string stats_file = ready.scratch / "stats.json";
  const Ended ended = ready.decode({"--stats", stats_file, "--latent-scale", "model"});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("out.npy") && Catch::Contains("peak"));
  CHECK(ended.err.empty());
  CHECK(ready.scratch.files() ==
        std::vector<std::string>{"latent.npy", "model", "out.npy", "plan.json", "stats.json"});
  CHECK(read_latent(ready.output).shape == std::vector<int64_t>{1, 3, 10, 12});
  const json stats = read_json_file(stats_file, 1 << 20);
  CHECK(stats["schema"] == "headroom.stats");
  CHECK(stats["version"] == 1);
  const json plan = ready.plan_json();
  CHECK(stats["limit_bytes"] == plan["limit_bytes"]);
  CHECK(stats["predicted_peak_bytes"] == plan["predicted"]["peak_bytes"]);
  CHECK(stats["peak_bytes"] ==
        stats["pool_peak_bytes"].get<int64_t>() + stats["outside_bytes"].get<int64_t>());
  CHECK(stats["rss_growth_bytes"].is_number_integer());
  CHECK(stats["seconds"].get<double>() > 0);
  REQUIRE(stats["passes"].size() == plan["passes"].size());
  for (const json& pass : stats["passes"]) {
    for (const char* key : {"name", "predicted_peak_bytes", "peak_bytes", "predicted_seconds", "seconds"}) {
      CHECK(pass.contains(key));
    }
  }
}

TEST_CASE("with --json it prints the statistics alone on standard output") {
  const ReadyDecode ready;
  const Ended ended = call(run_decode, joined(ready.words(), {"--json"}));
  REQUIRE(ended.code == 0);
  CHECK(json::parse(ended.out)["schema"] == "headroom.stats");
}

TEST_CASE("every output format holds the same picture") {
  const ReadyDecode ready;
  const std::string safetensors = ready.scratch / "out.safetensors", png = ready.scratch / "out.png";
  REQUIRE(ready.decode().code == 0);
  REQUIRE(ready.decode({"-o", safetensors}).code == 0);
  REQUIRE(ready.decode({"-o", png}).code == 0);
  CHECK(read_latent(safetensors).values == read_latent(ready.output).values);
  CHECK(test::read_bytes(png).substr(1, 3) == "PNG");
  REQUIRE(ready.decode({"-o", ready.scratch / "frames/"}).code == 0);
  CHECK(test::read_bytes(ready.scratch / "frames/00000.png").substr(1, 3) == "PNG");
  const std::string y4m = ready.scratch / "out.y4m";
  REQUIRE(ready.decode({"-o", y4m}).code == 0);
  CHECK_THAT(test::read_bytes(y4m), Catch::StartsWith("YUV4MPEG2 W12 H10 F24:1 "));
  REQUIRE(ready.decode({"-o", y4m, "--fps", "30000/1001"}).code == 0);
  CHECK_THAT(test::read_bytes(y4m), Catch::StartsWith("YUV4MPEG2 W12 H10 F30000:1001 "));
}

TEST_CASE("with --verify it compares with the untiled decode") {
  const ReadyDecode ready;
  const Ended ended = call(run_decode, joined(ready.words(), {"--verify", "--json"}));
  REQUIRE(ended.code == 0);
  const json found = json::parse(ended.out)["verification"];
  CHECK(found["compared_with"] == "the untiled decode");
  CHECK(found["largest_error_relative"].get<double>() <= 1e-5);
  CHECK(found["largest_error"].get<double>() ==
        Approx(found["largest_error_relative"].get<double>() * found["reference_magnitude"].get<double>())
            .margin(1e-12));
  CHECK(found["reference_magnitude"].get<double>() > 0);
  CHECK((found["psnr_db"].is_null() || found["psnr_db"].get<double>() > 90));
  CHECK(ready.scratch.files() == std::vector<std::string>{"latent.npy", "model", "out.npy", "plan.json"});
  CHECK_THAT(call(run_decode, joined(ready.words(), {"--verify"})).out,
             Catch::Contains("compared with the untiled decode"));
  const Ended folder =
      call(run_decode, joined(ready.words({"-o", ready.scratch / "frames/"}), {"--verify", "--json"}));
  REQUIRE(folder.code == 0);
  CHECK(json::parse(folder.out)["verification"] == found);
  CHECK(ready.scratch.files() ==
        std::vector<std::string>{"frames", "latent.npy", "model", "out.npy", "plan.json"});
}

Ended spawn(const Words& words) {
  return test::spawn(HEADROOM_BIN "/headroom-decode", words);
}

TEST_CASE("with --limit it plans with the program beside") {
  const ReadyDecode ready;
  Words words = ready.words({"--quiet", ""});
  words.erase(words.end() - 2, words.end());
  words[0] = "--limit";
  words[1] = "64MiB";
  const Ended ended = spawn(words);
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK(read_latent(ready.output).shape == std::vector<int64_t>{1, 3, 10, 12});
  words[1] = "512KiB";
  std::filesystem::remove(ready.output);
  require_refused(spawn(words), 3, {"headroom-decode: ", "smallest limit that works"});
  words[1] = "lots";
  require_refused(spawn(words), 2, {"--limit", "lots"});
  CHECK_FALSE(std::filesystem::exists(ready.output));
}

TEST_CASE("with --limit and --dtype what is kept is stored in 16 bits, unless the config forbids it") {
  const ReadyDecode ready;
  const auto decoded = [&](const std::string& dtype) {
    Words words = ready.words({"--quiet", "", "--dtype", dtype, "--stats", ready.scratch / "stats.json"});
    words.erase(std::remove(words.begin(), words.end(), ""), words.end());
    words[0] = "--limit";
    words[1] = "64MiB";
    const Ended ended = spawn(words);
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    CHECK((ended.err.find("--dtype fp16: decodes in fp32") != std::string::npos) == (dtype == "fp16"));
    return std::pair{read_latent(ready.output).values, read_json_file(ready.scratch / "stats.json", 1 << 24)};
  };
  const auto [exact, exact_stats] = decoded("fp32");
  const auto [rounded, rounded_stats] = decoded("bf16");
  CHECK(rounded_stats["pool_peak_bytes"] < exact_stats["pool_peak_bytes"]);
  REQUIRE(rounded.size() == exact.size());
  double largest = 0, error = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    largest = std::max(largest, std::abs(double(exact[i])));
    error = std::max(error, std::abs(double(exact[i]) - double(rounded[i])));
  }
  CHECK(error > 0);
  CHECK(error < 0.03 * largest);          // eight bits of mantissa, some layers deep
  CHECK(decoded("fp16").first == exact);  // the config has force_upcast
}

}  // namespace
}  // namespace headroom
