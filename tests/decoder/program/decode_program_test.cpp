#include "decoder/program/run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>

#include "decoder/files/latent_file.h"
#include "decoder/graph/json_fields.h"
#include "decoder/plan/plan_file.h"
#include "planner/program/run.h"
#include "tests/support/model_folder.h"
#include "tests/support/picture.h"
#include "tests/support/program.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::call;
using test::Ended;
using test::joined;
using test::require_refused;
using test::Scratch;
using test::Words;

constexpr const char* kWeights = "diffusion_pytorch_model.safetensors";

/// A folder with a tiny model, a latent of 5×6 and a plan for it.
struct ReadyDecode {
  Scratch scratch;
  json config;
  Array latent = random_latent({1, 4, 5, 6}, 3);
  std::string model, latent_file, plan_file, output;

  explicit ReadyDecode(const json& with_config = test::tiny_config()) : config(with_config) {
    model = test::write_model(scratch / "model", config, 1);
    latent_file = test::write_npy(scratch / "latent.npy", latent);
    plan_file = scratch / "plan.json";
    output = scratch / "out.npy";
    const Ended planned =
        call(planner::run_plan, {"--model", model, "--size", "12x10", "--limit", "64MiB", "-o", plan_file});
    INFO(planned.err);
    REQUIRE(planned.code == 0);
  }
  /// The words of a good decode; `changes` are pairs of option and value that replace its own.
  Words words(const Words& changes = {}) const {
    Words list{"--plan",    plan_file, "--model", model,       "--latent",
               latent_file, "-o",      output,    "--threads", "2"};
    for (size_t i = 0; i + 1 < changes.size(); i += 2) {
      const auto at = std::find(list.begin(), list.end(), changes[i]);
      if (at == list.end()) {
        list.insert(list.end(), {changes[i], changes[i + 1]});
      } else {
        *(at + 1) = changes[i + 1];
      }
    }
    return list;
  }
  Ended decode(const Words& changes = {}) const { return call(run_decode, words(changes)); }
  /// Refused with 2, and nothing was written.
  void refuses(const Words& changes, const std::vector<std::string>& parts) const {
    refuses(2, changes, parts);
  }
  void refuses(int code, const Words& changes, const std::vector<std::string>& parts) const {
    const std::vector<std::string> before = scratch.files();
    require_refused(decode(joined(changes, {"--stats", scratch / "stats.json"})), code, parts);
    CHECK(scratch.files() == before);
  }
  std::string weights() const { return model + "/" + kWeights; }
  void write_weights(const std::string& bytes) const { std::ofstream(weights(), std::ios::binary) << bytes; }
  void write_plan_json(const json& document) const { scratch.write("plan.json", document.dump()); }
  json plan_json() const { return read_json_file(plan_file, 1 << 26); }
};

TEST_CASE("help and version") {
  const Ended help = call(run_decode, {"--help"});
  CHECK(help.code == 0);
  CHECK(help.err.empty());
  CHECK_THAT(help.out, Catch::Contains("--plan") && Catch::Contains("--limit") &&
                           Catch::Contains("--latent-scale") && Catch::Contains("Exit codes"));
  CHECK(call(run_decode, {"--version"}).out == std::string("headroom-decode ") + HEADROOM_VERSION + "\n");
}

TEST_CASE("a decode writes its output, its statistics and nothing else") {
  const ReadyDecode ready;
  const std::string stats_file = ready.scratch / "stats.json";
  const Ended ended = ready.decode({"--stats", stats_file});
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

TEST_CASE("with --latent-scale model it undoes the config's scaling") {
  json config = test::tiny_config();
  config["scaling_factor"] = 0.25;
  SECTION("one factor and shift") {
    config["shift_factor"] = 0.125;
  }
  SECTION("a mean and a deviation for each channel") {
    config["latents_mean"] = {0.1, -0.2, 0.3, -0.4};
    config["latents_std"] = {0.5, 1, 1.5, 2};
  }
  const ReadyDecode ready(config);
  REQUIRE(ready.decode().code == 0);
  const Array expected = read_latent(ready.output);
  Array handed_on = ready.latent;
  for (size_t i = 0; i < handed_on.values.size(); ++i) {
    const size_t c = i / 30 % 4;
    const bool each = config.contains("latents_mean");
    const double mean = each ? config["latents_mean"][c].get<double>() : 0.125;
    const double deviation = each ? config["latents_std"][c].get<double>() : 1;
    handed_on.values[i] = static_cast<float>((double(handed_on.values[i]) - mean) * 0.25 / deviation);
  }
  const std::string file = test::write_npy(ready.scratch / "handed_on.npy", handed_on);
  REQUIRE(ready.decode({"--latent", file, "--latent-scale", "model"}).code == 0);
  CHECK(test::relative_error(read_latent(ready.output), expected) < 1e-5);
  REQUIRE(ready.decode({"--latent", file, "--latent-scale", "none"}).code == 0);
  CHECK(test::relative_error(read_latent(ready.output), expected) > 1e-2);
}

TEST_CASE(
    "a mean or deviation for other than each channel matters only where --latent-scale model needs it") {
  json config = test::tiny_config();
  config["latents_mean"] = std::vector<double>(16, 0.5);
  config["latents_std"] = std::vector<double>(4, 2.0);
  const auto refused = [](const ReadyDecode& ready, const std::string& key) {
    REQUIRE(ready.decode().code == 0);
    std::filesystem::remove(ready.output);
    ready.refuses({"--latent-scale", "model"},
                  {"model/config.json: latents_" + key, "4 latent channels", "found 16"});
  };
  refused(ReadyDecode(config), "mean");
  std::swap(config["latents_mean"], config["latents_std"]);
  refused(ReadyDecode(config), "std");
}

TEST_CASE("random weights are those of the seed") {
  const ReadyDecode ready;
  REQUIRE(ready.decode().code == 0);
  const Array from_files = read_latent(ready.output);
  REQUIRE(ready.decode({"--random-weights", "1"}).code == 0);
  CHECK(read_latent(ready.output).values == from_files.values);
  REQUIRE(ready.decode({"--random-weights", "2"}).code == 0);
  CHECK(read_latent(ready.output).values != from_files.values);
}

TEST_CASE("bad usage ends with 2") {
  const ReadyDecode ready;
  ready.refuses({"--colour", "red"}, {"headroom-decode: ", "--colour", "--help"});
  ready.refuses({"--limit", "1GiB"}, {"--limit"});
  ready.refuses({"--weights", ready.model, "--random-weights", "1"}, {"--random-weights"});
  ready.refuses({"--random-weights", "many"}, {"--random-weights"});
  ready.refuses({"--latent-scale", "twice"}, {"--latent-scale"});
  ready.refuses({"--threads", "0"}, {"--threads"});
  ready.refuses({"-o", ready.scratch / "out.y4m", "--fps", "0"}, {"--fps", "30000/1001"});
  ready.refuses({"--fps", "25"}, {"--fps", ".y4m"});
  ready.refuses({"--model", "sdxxl"}, {"sdxxl", "sdxl"});
  for (const char* missing : {"--plan", "--model", "--latent", "-o"}) {
    Words words = ready.words();
    const auto at = std::find(words.begin(), words.end(), missing);
    words.erase(at, at + 2);
    CAPTURE(missing);
    require_refused(call(run_decode, words), 2, {"headroom-decode: "});
  }
  require_refused(call(run_decode, {}), 2, {"headroom-decode: "});
}

TEST_CASE("missing files are named") {
  const ReadyDecode ready;
  const std::string none = ready.scratch / "none";
  ready.refuses({"--plan", none + ".json"}, {"none.json: no such file"});
  ready.refuses({"--latent", none + ".npy"}, {"none.npy"});
  ready.refuses({"--latent", none + ".safetensors"}, {"none.safetensors"});
  ready.refuses({"--weights", none}, {"none: no such folder"});
  ready.refuses({"-o", none + "/out.npy"}, {"none"});
  std::filesystem::remove(ready.weights());
  ready.refuses({}, {kWeights, "no such file"});
  std::filesystem::remove(ready.model + "/config.json");
  ready.refuses({}, {"config.json", "no such file"});
}

TEST_CASE("outputs in formats that are not written are refused before the work") {
  const ReadyDecode ready;
  for (const char* name : {"out.jpg", "out.npy.bak", "out.PNG"}) {
    CAPTURE(name);
    ready.refuses({"-o", ready.scratch / name}, {name, ".png, .npy or .safetensors"});
  }
}

TEST_CASE("latents of the wrong shape or with values that are not finite are refused") {
  const ReadyDecode ready;
  const auto with = [&](const Array& latent) {
    return Words{"--latent", test::write_npy(ready.scratch / "other.npy", latent)};
  };
  ready.refuses(with(random_latent({1, 4, 5, 7}, 1)), {"latent", "1x4x5x6", "1x4x5x7"});
  ready.refuses(with(random_latent({1, 3, 5, 6}, 1)), {"latent", "1x4x5x6", "1x3x5x6"});
  ready.refuses(with(random_latent({2, 4, 5, 6}, 1)), {"latent", "2x4x5x6"});
  ready.refuses(with(random_latent({4, 5, 6}, 1)), {"other.npy", "shape"});
  ready.refuses(with(random_latent({1, 4, 2, 5, 6}, 1)), {"latent"});
  for (const float bad : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    Array latent = ready.latent;
    latent.values[17] = bad;
    ready.refuses(with(latent), {"other.npy", "element 17", "not finite"});
  }
  const std::string npy = test::read_bytes(ready.latent_file);
  for (const size_t length : {size_t{0}, size_t{5}, size_t{60}, npy.size() - 1}) {
    CAPTURE(length);
    ready.refuses({"--latent", ready.scratch.write("cut.npy", npy.substr(0, length))}, {"cut.npy"});
  }
  ready.refuses({"--latent", ready.scratch.write("text.txt", "1 2 3")}, {"text.txt", ".npy"});
}

TEST_CASE("weights that are truncated, misshapen, lying or not finite are refused") {
  const ReadyDecode ready;
  const std::string good = test::read_bytes(ready.weights());
  const auto lies = [&](const std::string& from, const std::string& to) {
    std::string bytes = good;
    REQUIRE(bytes.find(from) != std::string::npos);
    REQUIRE(from.size() == to.size());
    return bytes.replace(bytes.find(from), from.size(), to);
  };
  for (const size_t length :
       {size_t{0}, size_t{4}, size_t{8}, size_t{200}, good.size() / 2, good.size() - 1}) {
    CAPTURE(length);
    ready.write_weights(good.substr(0, length));
    ready.refuses({}, {kWeights});
  }
  ready.write_weights(lies("\"decoder.conv_in.bias\"", "\"decoder.conv_in.bios\""));
  ready.refuses({}, {kWeights, "decoder.conv_in.bias", "no such tensor"});
  ready.write_weights(lies("\"shape\":[16,4,3,3]", "\"shape\":[16,3,4,3]"));
  ready.refuses({}, {kWeights, "decoder.conv_in.weight", "shape", "16"});
  ready.write_weights(lies("\"F32\"", "\"I32\""));
  ready.refuses({}, {kWeights});
  std::string huge = good;
  std::fill_n(huge.begin(), 8, '\x7f');  // a header of 2^63 bytes
  ready.write_weights(huge);
  ready.refuses({}, {kWeights});
  std::string bad = good;
  const uint32_t nan = 0x7fc00000;
  std::memcpy(bad.data() + bad.size() - 4, &nan, 4);
  ready.write_weights(bad);
  ready.refuses({}, {kWeights, "not finite"});
  ready.write_weights(good);
  CHECK(ready.decode().code == 0);
}

TEST_CASE("hostile configs are refused by key") {
  const ReadyDecode ready;
  const auto refuses = [&](const char* key, const json& value) {
    json config = ready.config;
    config[key] = value;
    std::ofstream(ready.model + "/config.json") << config.dump();
    CAPTURE(key, value.dump());
    ready.refuses({}, {"config.json: ", key});
  };
  refuses("_class_name", "AutoencoderKLMochi");
  refuses("latent_channels", int64_t{1} << 60);
  refuses("block_out_channels", json::array());
  refuses("act_fn", json::object());
  std::ofstream(ready.model + "/config.json") << std::string(1 << 20, '[');
  ready.refuses({}, {"config.json"});
}

TEST_CASE("hostile plans are refused by key, and plans that lie by place") {
  const ReadyDecode ready;
  const json good = ready.plan_json();
  const auto refuses = [&](const json& document, const std::vector<std::string>& parts) {
    ready.write_plan_json(document);
    ready.refuses({}, parts);
  };
  json plan = good;
  plan["version"] = 3;
  refuses(plan, {"plan.json: version", "newer"});
  plan = good;
  plan["passes"][0]["steps"][0]["kind"] = "launch";
  refuses(plan, {"plan.json: passes[0].steps[0].kind"});
  plan = good;
  plan["request"]["batch"] = 1'000'000;
  plan["slice_items"] = 1'000'000;
  refuses(plan, {"plan.json"});
  plan = good;
  plan["limit_bytes"] = plan["predicted"]["peak_bytes"].get<int64_t>() - 1;
  refuses(plan, {"plan.json", "limit"});
  plan = good;
  json& last_steps = plan["passes"].back()["steps"];
  last_steps.erase(last_steps.size() - 1);
  refuses(plan, {"plan.json", "output"});
  ready.scratch.write("plan.json", "{");
  ready.refuses({}, {"plan.json: not valid JSON"});
  ready.scratch.write("plan.json", std::string(1 << 16, '['));
  ready.refuses({}, {"plan.json: nested"});
  // A good plan for another model.
  ready.write_plan_json(good);
  ready.refuses({"--model", "sdxl", "--random-weights", "1"}, {"plan.json"});
}

/// The plan with all that it says of tiles and blocks scaled down, as far as the validator can know it to be
/// possible.
std::optional<json> understated(const ReadyDecode& ready, double share) {
  json plan = ready.plan_json();
  const int64_t weights = plan["weights_bytes"].get<int64_t>();
  const int64_t own =
      plan["predicted"]["peak_bytes"].get<int64_t>() - plan["reserve_bytes"].get<int64_t>() - weights;
  plan["reserve_bytes"] = 0;
  plan["limit_bytes"] = weights + static_cast<int64_t>(double(own) * share);
  plan["predicted"]["peak_bytes"] = plan["limit_bytes"];
  for (json& pass : plan["passes"]) pass["predicted"]["peak_bytes"] = plan["limit_bytes"];
  ready.write_plan_json(plan);
  if (call(planner::run_plan, {"validate", ready.plan_file}).code != 0) return std::nullopt;
  return plan;
}

TEST_CASE("a plan whose predictions are too low is stopped with 4, and nothing is half-written") {
  json config = test::tiny_config({16, 32});
  config["mid_block_add_attention"] = false;
  const std::string suffix = GENERATE(".npy", ".safetensors", ".png");
  CAPTURE(suffix);
  const ReadyDecode ready(config);
  const json good = ready.plan_json();
  int stopped = 0;
  for (const double share : {0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95}) {
    ready.write_plan_json(good);
    if (!understated(ready, share)) continue;
    const Words words =
        ready.words({"-o", ready.scratch / ("out" + suffix), "--stats", ready.scratch / "stats.json"});
    const Ended ended = call(run_decode, words);
    if (ended.code == 0) break;  // enough, after all
    require_refused(ended, 4,
                    {"stopped before crossing the limit", "pass ", "asked for", "live of a limit of"});
    CHECK(ready.scratch.files() == std::vector<std::string>{"latent.npy", "model", "plan.json"});
    ++stopped;
  }
  CHECK(stopped > 0);
}

TEST_CASE("an output that was there before stays as it was when the decode fails") {
  const ReadyDecode ready;
  std::ofstream(ready.output) << "before";
  const std::string cut = test::read_bytes(ready.weights()).substr(0, 1000);
  ready.write_weights(cut);
  CHECK(ready.decode().code == 2);
  CHECK(test::read_bytes(ready.output) == "before");
}

Ended spawn(const Words& words) {
  return test::spawn(HEADROOM_BIN "/headroom-decode", words);
}

/// A decode of a few seconds that keeps what it can in a scratch file and brings its weights in pass by pass.
struct Moving : ReadyDecode {
  std::string folder = scratch / "disk";

  explicit Moving(int64_t rows = 6) {
    std::filesystem::create_directory(folder);
    const Model of = resolve_model(model);
    latent = random_latent({1, 4, rows, 6}, 3);
    test::write_npy(latent_file, latent);
    test::Random random(4);
    test::RandomStyle style;
    style.keep = style.below = style.untiled_columns = 1;
    style.in_place = style.untiled_rows = 0;
    style.most_tiles = 400;
    MemoryModel memory;
    memory.block_bytes = 20'000;
    memory.reserve_bytes = int64_t{16} << 20;
    const PlanConfiguration configuration{1, WeightResidency::per_pass, MemoryTier::scratch};
    Plan plan = test::random_plan(of, test::request_for(of, {1, rows, 6}), 1, style, memory, random, {},
                                  configuration)
                    .plan;
    plan.request.model = model;
    // What libraries take is not in this model of memory.
    for (Pass& pass : plan.passes) pass.predicted_peak_bytes += int64_t{64} << 20;
    plan.predicted_peak_bytes += int64_t{64} << 20;
    plan.limit_bytes = plan.predicted_peak_bytes;
    plan.scratch_folder = folder;
    plan.scratch_limit_bytes = int64_t{1} << 30;
    write_plan(plan_file, plan, of.graph);
  }
};

TEST_CASE("a plan with a scratch file runs, compares and says what it moved") {
  const Moving ready;
  const Ended ended = call(run_decode, joined(ready.words(), {"--verify", "--json"}));
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const json stats = json::parse(ended.out);
  CHECK(stats["verification"]["largest_error_relative"].get<double>() <= 1e-5);
  CHECK(stats["scratch_written_bytes"].get<int64_t>() > 0);
  CHECK(stats["scratch_read_bytes"] >= stats["scratch_written_bytes"]);
  CHECK(stats["transfer_wait_seconds"].get<double>() >= 0);
  CHECK(std::filesystem::is_empty(ready.folder));
}

TEST_CASE("a plan's scratch folder and limit give way to --scratch and --scratch-limit") {
  const Moving ready;
  const std::string other = ready.scratch / "other";
  ready.refuses({"--scratch", other}, {"other", "no such folder"});
  ready.refuses({"--scratch", "/dev/shm"}, {"/dev/shm", "is in memory"});
  ready.refuses({"--scratch-limit", "8KiB"}, {"scratch", "limit", "8192"});
  ready.refuses({"--scratch-limit", "much"}, {"--scratch-limit", "much"});
  std::filesystem::remove(ready.folder);
  ready.refuses({}, {"disk", "no such folder"});
  std::filesystem::create_directory(other);
  CHECK(ready.decode({"--scratch", other}).code == 0);
}

TEST_CASE("a plan whose costs were measured elsewhere is refused, unless that is meant") {
  const ReadyDecode ready;
  json plan = ready.plan_json();
  plan["environment"] = {{"device", "Abacus, 3 threads"}, {"libraries", "LibTorch 0.1"}};
  ready.write_plan_json(plan);
  ready.refuses({}, {"plan.json", "measured on Abacus, 3 threads (LibTorch 0.1)", "this is ", "2 threads",
                     "--other-environment"});
  CHECK(call(run_decode, joined(ready.words(), {"--other-environment"})).code == 0);
}

/// Starts the built program and ends it with this signal, `milliseconds` after it began its output in
/// `folder`. False where it had ended by then.
bool interrupted(const Words& words, const Scratch& folder, int signal_number, int milliseconds) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<std::string> all = joined({HEADROOM_BIN "/headroom-decode"}, words);
    std::vector<char*> argv;
    for (std::string& word : all) argv.push_back(word.data());
    argv.push_back(nullptr);
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  const auto began = [&] {
    const std::vector<std::string> names = folder.files();
    const std::string mark = ".partial-" + std::to_string(child);
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return name.ends_with(mark); });
  };
  siginfo_t ended{};
  while (!began() && waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0) {
    usleep(1000);
  }
  usleep(static_cast<useconds_t>(milliseconds) * 1000);
  kill(child, signal_number);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == signal_number;
}

/// Of a file, or of all files in a folder, by name.
std::map<std::string, std::string> contents(const std::filesystem::path& path) {
  std::map<std::string, std::string> files;
  const auto add = [&](const std::filesystem::path& file, const std::string& name) {
    std::ifstream in(file, std::ios::binary);
    files[name] = {std::istreambuf_iterator<char>(in), {}};
  };
  if (!std::filesystem::is_directory(path))
    add(path, "");
  else
    for (const auto& entry : std::filesystem::directory_iterator(path))
      add(entry.path(), entry.path().filename());
  return files;
}

TEST_CASE("a decode that is ended by a signal leaves no output and no scratch file") {
  const Moving ready(600);
  const std::string suffix = GENERATE(".npy", ".png", "");  // none: a folder
  const Words words = ready.words({"-o", ready.scratch / ("out" + suffix)});
  const auto partial_files = [&] {
    int count = 0;
    for (const std::string& name : ready.scratch.files())
      count += name.find(".partial-") != std::string::npos ? 1 : 0;
    return count;
  };
  const Words undisturbed = ready.words({"-o", ready.scratch / ("whole" + suffix)});
  REQUIRE(call(run_decode, undisturbed).code == 0);
  // None, or all of it: a signal may come when all is done but the process's own end.
  const auto none_or_whole = [&] {
    const std::filesystem::path out = ready.scratch / ("out" + suffix);
    const bool sound =
        !std::filesystem::exists(out) || contents(out) == contents(ready.scratch / ("whole" + suffix));
    std::filesystem::remove_all(out);
    return sound;
  };
  int killed = 0, terminated = 0, left = 0;
  for (const int milliseconds : {0, 30, 100, 300}) {
    CAPTURE(suffix, milliseconds);
    // Killed: what was written so far stays under a name of its own.
    if (interrupted(words, ready.scratch, SIGKILL, milliseconds)) {
      ++killed;
      left += partial_files();
    }
    CHECK(none_or_whole());
    CHECK(std::filesystem::is_empty(ready.folder));
    // Asked to end: nothing stays, nor what the killed one left.
    for (const int number : {SIGTERM, SIGINT}) {
      if (interrupted(words, ready.scratch, number, milliseconds)) {
        ++terminated;
        CHECK(partial_files() == 0);
      }
      CHECK(none_or_whole());
    }
    CHECK(std::filesystem::is_empty(ready.folder));
  }
  CHECK(killed > 0);
  CHECK(terminated > 0);
  CHECK(left > 0);
}

TEST_CASE("what a killed decode of the same output left behind goes, and nothing else") {
  const ReadyDecode ready;
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  const std::string dead = std::to_string(gone), alive = std::to_string(getppid());
  const std::vector<std::string> others{"out.npy.partial-" + alive, "out.npy.partial-x", "out.npy.partial-",
                                        "other.npy.partial-" + dead,
                                        "out.npy.partial-" + dead + "0000000000"};
  for (const std::string& name : others) ready.scratch.write(name, "x");
  for (const std::string& name : {"out.npy.partial-" + dead, "out.npy.verify-" + dead + ".npy",
                                  "out.npy.verify-" + dead + ".npy.partial-" + dead}) {
    ready.scratch.write(name, "x");
  }
  REQUIRE(ready.decode().code == 0);
  std::vector<std::string> expected = joined({"latent.npy", "model", "out.npy", "plan.json"}, others);
  std::sort(expected.begin(), expected.end());
  CHECK(ready.scratch.files() == expected);
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
  words[1] = "1MiB";
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
