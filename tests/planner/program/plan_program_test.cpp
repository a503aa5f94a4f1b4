#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "decoder/base/json_fields.h"
#include "planner/program/run.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/program.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

using nlohmann::json;
using test::call;
using test::Ended;
using test::joined;
using test::require_refused;
using test::Scratch;
using test::Words;

Ended plan(const Words& words) {
  return call(run_plan, words);
}

/// A folder with a config and a plan of several bands.
struct Planned {
  Scratch scratch;
  std::string model = scratch.folder().string();
  std::string file = scratch / "plan.json";

  explicit Planned(const std::string& limit = "64MiB", json config = test::tiny_config()) {
    scratch.write("config.json", config.dump());
    const Ended ended = plan({"--model", model, "--size", "48x40", "--limit", limit, "-o", file});
    INFO(ended.err);
    REQUIRE(ended.code == 0);
  }
  json document() const { return read_json_file(file, 1 << 26); }
  Ended validate(const json& changed) const {
    const auto path = scratch.write("changed.json", changed.dump());
    return plan({"validate", path.string()});
  }
};

/// The smallest limit that the program suggests for these options.
int64_t named_limit(const Words& words) {
  const Ended ended = plan(joined(words, {"--limit", "1KiB"}));
  require_refused(ended, 3, {"smallest limit that works", "bytes", "Pass"});
  std::smatch found;
  REQUIRE(std::regex_search(ended.err, found, std::regex("\\(([0-9]+) bytes\\)")));
  return std::stoll(found[1]);
}

TEST_CASE("a plan is written with the keys that others read") {
  const Planned planned;
  const json document = planned.document();
  CHECK(document["schema"] == "headroom.plan");
  CHECK(document["version"] == 4);
  CHECK(document["limit_bytes"] == 64 << 20);
  CHECK(document["predicted"]["peak_bytes"].is_number_integer());
  CHECK(document["predicted"]["seconds"].is_number());
  CHECK(document["optimal"].is_boolean());
  CHECK(document["exact"] == true);
  CHECK(document["assumed"] == true);
  CHECK(document["passes"].is_array());
  CHECK(document["kept"].is_array());
  const Ended valid = plan({"validate", planned.file});
  CHECK(valid.code == 0);
  CHECK_THAT(valid.out, Catch::Contains("valid"));
  const Ended as_json =
      plan({"--model", planned.model, "--size", "48x40", "--limit", "64MiB", "-o", planned.file, "--json"});
  CHECK(json::parse(as_json.out) == document);
}

TEST_CASE("without a file for the plan, its summary is printed and nothing is written") {
  const Planned planned;
  const Words words{"--model", planned.model, "--size", "48x40", "--limit", "64MiB"};
  const Ended written = plan(joined(words, {"-o", planned.file}));
  const Ended ended = plan(words);
  CHECK(ended.code == 0);
  CHECK(planned.file + ": " + ended.out == written.out);
  CHECK(planned.scratch.files() == std::vector<std::string>{"config.json", "plan.json"});
  require_refused(plan(joined(words, {"-o", ""})), 2, {"-o", "expected the name of a file"});
}

TEST_CASE("what does not fit ends with 3 and the smallest limit, which works to the byte") {
  const Planned planned;
  const Words words{"--model", planned.model, "--size", "48x40", "-o", planned.scratch / "other.json"};
  const int64_t smallest = named_limit(words);
  CHECK_FALSE(std::filesystem::exists(planned.scratch / "other.json"));
  CHECK(plan(joined(words, {"--limit", std::to_string(smallest - 1)})).code == 3);
  CHECK_FALSE(std::filesystem::exists(planned.scratch / "other.json"));
  CHECK(plan(joined(words, {"--limit", std::to_string(smallest)})).code == 0);
  CHECK(plan({"validate", planned.scratch / "other.json"}).code == 0);
}

TEST_CASE("a time budget that is too short ends with 3 and the bound, and writes nothing") {
  const Planned planned;
  const std::string file = planned.scratch / "other.json";
  const Words words{"--model", planned.model, "--size", "48x40", "--limit", "64MiB", "--time-budget"};
  require_refused(plan(joined(words, {"0", "-o", file})), 3, {"--time-budget", "allow more time"});
  const Ended in_json = plan(joined(words, {"0", "--json", "-o", file}));
  REQUIRE(in_json.code == 3);
  const json why = json::parse(in_json.out);
  CHECK(why["fits"] == false);
  CHECK(why["bound_seconds"] > 0);
  CHECK_FALSE(std::filesystem::exists(file));
  REQUIRE(plan(joined(words, {"60", "-o", file})).code == 0);
  CHECK(why["bound_seconds"] <= read_json_file(file, 1 << 28)["predicted"]["seconds"]);
}

TEST_CASE("help and version") {
  for (const Words& words :
       {Words{"--help"}, {"explain", "--help"}, {"diff", "--help"}, {"validate", "--help"}}) {
    const Ended ended = plan(words);
    CHECK(ended.code == 0);
    CHECK(ended.err.empty());
    CHECK_THAT(ended.out, Catch::Contains("Usage"));
  }
  CHECK_THAT(plan({"--help"}).out,
             Catch::Contains("--limit") && Catch::Contains("--size") && Catch::Contains("Exit codes"));
  for (const char* command : {"explain", "diff"}) {
    CHECK_THAT(plan({command, "--help"}).out,
               Catch::Contains(std::string("headroom-plan ") + command) && Catch::Contains("Example"));
  }
  CHECK(plan({"--version"}).out == std::string("headroom-plan ") + HEADROOM_VERSION + "\n");
}

TEST_CASE("bad usage and bad input end with 2 and one line") {
  const Scratch scratch;
  const std::string out = scratch / "p.json";
  const auto with = [&](const std::string& option, const std::string& value) {
    Words words{"--model", "sdxl", "--size", "64x64", "--limit", "1GiB", "-o", out};
    for (size_t i = 0; i + 1 < words.size(); i += 2) {
      if (words[i] == option) {
        words[i + 1] = value;
        return words;
      }
    }
    return joined(words, {option, value});
  };
  require_refused(plan({}), 2, {"headroom-plan: ", "--help"});
  require_refused(plan({"--no-such-option"}), 2, {"headroom-plan: "});
  require_refused(plan(with("--colour", "red")), 2, {"--colour"});
  require_refused(plan(with("--model", "sdxxl")), 2, {"sdxxl", "did you mean sdxl?", "headroom-plan models"});
  for (const char* size : {"64", "64x", "x64", "64x64x64", "-64x64", "0x0", "64X64", "65x64", "64x65",
                           "99999999999999999999x64", "999999999x64", ""}) {
    CAPTURE(size);
    require_refused(plan(with("--size", size)), 2, {"--size"});
  }
  for (const char* limit : {"", "GiB", "-1GiB", "1XiB", "nan", "inf", "1e400", "1GiB2", "9e18GiB"}) {
    CAPTURE(limit);
    require_refused(plan(with("--limit", limit)), 2, {"--limit"});
  }
  require_refused(plan(with("--dtype", "fp64")), 2, {"dtype", "fp64", "bf16"});
  require_refused(plan(with("--batch", "0")), 2, {"--batch"});
  require_refused(plan(with("--frames", "2")), 2, {"--frames"});
  require_refused(plan(with("--profile", (scratch / "none.json").string())), 2,
                  {"none.json", "no such file"});
  require_refused(plan({"validate"}), 2, {"plan"});
  require_refused(plan({"validate", scratch / "none.json"}), 2, {"none.json: no such file"});
  require_refused(plan({"explain", scratch / "none.json"}), 2, {"none.json: no such file"});
  CHECK(scratch.files().empty());
}

TEST_CASE("plans for CUDA: made, explained, validated, and refused where it has no such thing") {
  const Planned planned;
  const std::string file = planned.scratch / "cuda.json";
  const Words words{"--model", planned.model, "--size", "48x40", "--device", "cuda", "-o", file};
  const Ended made = plan(joined(words, {"--limit", "64MiB", "--host-limit", "1GiB", "--dtype", "bf16"}));
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK_THAT(made.out, Catch::Contains("by assumed costs of an H100"));
  const json document = read_json_file(file, 1 << 26);
  CHECK(document["request"]["device"] == "cuda");
  CHECK(document["assumed"] == true);
  CHECK(planned.document()["request"]["device"] == "cpu");
  CHECK(plan({"validate", file}).code == 0);
  CHECK_THAT(plan({"explain", file}).out, Catch::Contains("bf16 on cuda"));
  CHECK_THAT(plan({"explain", planned.file}).out, !Catch::Contains(" on cuda"));
  CHECK(json::parse(plan({"explain", file, "--json"}).out)["device"] == "cuda");
  CHECK_THAT(plan({"diff", planned.file, file}).out, Catch::Contains("cpu -> cuda"));
  // On the CPU, tiles are larger than the file says.
  json moved = document;
  moved["request"].erase("device");
  CHECK(planned.validate(moved).code == 2);

  require_refused(plan(joined(words, {"--limit", "auto"})), 2, {"--limit auto", "GPU", "give bytes"});
  require_refused(plan(joined(words, {"--limit", "64MiB", "--scratch", "/tmp", "--scratch-limit", "1GiB"})),
                  2, {"--scratch: not with --device cuda", "--host-limit"});
  require_refused(plan(joined(words, {"--limit", "1KiB"})), 3, {"smallest limit that works", "statistics"});
  const Words other{"--model", planned.model, "--size", "48x40", "--limit", "64MiB", "-o", file};
  require_refused(plan(joined(other, {"--device", "gpu"})), 2,
                  {"--device: expected cpu, cuda or cuda:N, found 'gpu'"});

  const Ended frontier =
      plan({"frontier", "--model", planned.model, "--size", "48x40", "--device", "cuda", "--json"});
  REQUIRE(frontier.code == 0);
  CHECK(json::parse(frontier.out)["request"]["device"] == "cuda");
}

TEST_CASE("TF32 is asked for by --tf32, named by explain and diff, and needs fp32 on cuda") {
  const Planned planned;
  const std::string file = planned.scratch / "tf32.json", full = planned.scratch / "fp32.json";
  const auto solve = [&](const std::string& output, const Words& how) {
    return plan(joined({"--model", planned.model, "--size", "48x40", "--limit", "64MiB", "-o", output}, how));
  };
  const Words on_cuda{"--device", "cuda"};
  REQUIRE(solve(full, on_cuda).code == 0);
  CHECK_FALSE(read_json_file(full, 1 << 26)["request"].contains("tf32"));
  const Ended made = solve(file, joined(on_cuda, {"--tf32=convolutions"}));
  REQUIRE(made.code == 0);
  CHECK_THAT(made.out, Catch::Contains("fp32 with TF32 in convolutions on cuda"));
  CHECK(read_json_file(file, 1 << 26)["request"]["tf32"] == "convolutions");
  CHECK(plan({"validate", file}).code == 0);
  CHECK_THAT(plan({"explain", file}).out, Catch::Contains("fp32 with TF32 in convolutions on cuda"));
  CHECK_THAT(plan({"explain", full}).out, Catch::Contains("fp32 on cuda"));
  CHECK_THAT(plan({"explain", file, "--schedule"}).out, Catch::Contains("fp32 with TF32 in convolutions"));
  CHECK(json::parse(plan({"explain", file, "--json"}).out)["tf32"] == "convolutions");
  CHECK_THAT(plan({"diff", full, file}).out, Catch::Contains("request tf32  none -> convolutions"));
  REQUIRE(solve(file, joined(on_cuda, {"--tf32"})).code == 0);
  CHECK(read_json_file(file, 1 << 26)["request"]["tf32"] == "all");

  const std::string rule = "--tf32: TF32 needs fp32 on cuda, found ";
  require_refused(solve(file, {"--tf32"}), 2, {rule + "fp32 on cpu"});
  require_refused(solve(file, joined(on_cuda, {"--tf32", "--dtype", "bf16"})), 2, {rule + "bf16 on cuda"});
  require_refused(solve(file, joined(on_cuda, {"--tf32=some"})), 2,
                  {"--tf32: expected all, convolutions or products, found 'some'"});
}

TEST_CASE("a plan's folder must be there, and what can be none is refused") {
  const Planned planned;
  const auto into = [&](const std::string& file) {
    return plan({"--model", planned.model, "--size", "48x40", "--limit", "64MiB", "-o", file});
  };
  require_refused(into(planned.scratch / "new/folder/plan.json"), 2, {"there is no folder", "mkdir -p"});
  CHECK_FALSE(std::filesystem::exists(planned.scratch / "new"));
  std::filesystem::create_directories(planned.scratch / "new/folder");
  const Ended made = into(planned.scratch / "new/folder/plan.json");
  CHECK(made.code == 0);
  CHECK(std::filesystem::is_regular_file(planned.scratch / "new/folder/plan.json"));
  CHECK_THAT(made.out, Catch::Contains("plan.json: ") && Catch::Contains(" 48x40, fp32 on cpu, peak "));
  require_refused(into(planned.file + "/below/plan.json"), 2, {"there is no folder", "plan.json/below"});
  require_refused(into(planned.scratch / "new/folder"), 2, {"new/folder: expected a file, found a folder"});
  // A rejected request creates no folder.
  require_refused(plan({"--model", "sdxxl", "--size", "48x40", "--limit", "64MiB", "-o",
                        planned.scratch / "other/plan.json"}),
                  2, {"sdxxl"});
  CHECK_FALSE(std::filesystem::exists(planned.scratch / "other"));
  for (const char* option : {"-o", "--csv"}) {
    const std::filesystem::path file = planned.scratch / (std::string("frontier") + option + "/file");
    std::filesystem::create_directory(file.parent_path());
    CHECK(
        plan({"frontier", "--model", planned.model, "--size", "48x40", "--points", "2", option, file}).code ==
        0);
    CHECK(std::filesystem::is_regular_file(file));
  }
}

TEST_CASE("an unknown command or option is called that, and the nearest is named") {
  require_refused(plan({"explian", "plan.json"}), 2,
                  {"headroom-plan: unknown command 'explian'; did you mean explain?"});
  require_refused(plan({"fronteir"}), 2, {"unknown command 'fronteir'; did you mean frontier?"});
  require_refused(plan({"xyzzy"}), 2,
                  {"unknown command 'xyzzy'; the commands are frontier, explain, diff, validate, queue",
                   "Without a command it makes a plan: headroom-plan --model"});
  require_refused(plan({"plan\nfile.json"}), 2, {"unknown command 'plan"});
  require_refused(plan({"--modle", "sdxl"}), 2,
                  {"unknown option '--modle'; did you mean --model?", "--help"});
  require_refused(plan({"explain", "--shedule", "plan.json"}), 2, {"'--shedule'; did you mean --schedule?"});
  require_refused(plan({"--xyzzy=1"}), 2, {"unknown option '--xyzzy' ("});
  CHECK(plan({"--modle", "--help"}).code == 0);
}

TEST_CASE("the frontier tells the untiled peak as diffusers has it, and what is held then") {
  const Words words{"frontier", "--model", "sdxl", "--size", "512x512", "--points", "2"};
  CHECK_THAT(plan(words).out, Catch::Contains("\nuntiled, by diffusers: 1151.2 MiB at up2.upsample0.conv\n"));
  Words as_json = words;
  as_json.push_back("--json");
  const json untiled = json::parse(plan(as_json).out)["untiled"];
  CHECK(untiled["by_diffusers"] == true);
  CHECK(untiled["layer"] == "decoder.up_blocks.2.upsamplers.0.conv");
  int64_t held = 0;
  for (const json& tensor : untiled["live"]) held += tensor["bytes"].get<int64_t>();
  CHECK(held == untiled["peak_bytes"]);
}

TEST_CASE("the frontier tells the untiled peak of other classes as that of one tile") {
  const Words words{"frontier", "--model", "taesd", "--size", "128x128", "--points", "2"};
  CHECK_THAT(plan(words).out, Catch::Contains("\nuntiled: about "));
  Words as_json = words;
  as_json.push_back("--json");
  const json untiled = json::parse(plan(as_json).out)["untiled"];
  CHECK(untiled["by_diffusers"] == false);
  CHECK_FALSE(untiled.contains("layer"));
  CHECK(untiled["peak_bytes"].get<int64_t>() > 0);
}

TEST_CASE("the frontier fits the columns that there are, and time is a mark on a scale") {
  const Planned planned;
  const Words words{"frontier", "--model", planned.model, "--size", "256x256", "--points", "5"};
  const auto widest = [](const std::string& text) {
    size_t most = 0, width = 0;
    for (const char c : text) {
      if (c == '\n') {
        most = std::max(most, width);
        width = 0;
      } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {  // count code points of UTF-8
        ++width;
      }
    }
    return most;
  };
  for (const int columns : {60, 80, 132}) {
    CAPTURE(columns);
    setenv("COLUMNS", std::to_string(columns).c_str(), 1);
    const std::string text = plan(words).out;
    CHECK(widest(text.substr(text.find('\n') + 1)) <= static_cast<size_t>(columns));
    CHECK(widest(text.substr(text.find('\n') + 1)) > static_cast<size_t>(columns) - 24);
    CHECK_THAT(text, Catch::Contains("256x256 in fp32") && Catch::Contains("●") && !Catch::Contains("▇"));
  }
  unsetenv("COLUMNS");
}

/// Pass and step number of the first step that `wanted` accepts.
std::pair<size_t, size_t> find_step(const json& document, const std::function<bool(const json&)>& wanted) {
  for (size_t p = 0; p < document["passes"].size(); ++p) {
    const json& steps = document["passes"][p]["steps"];
    for (size_t s = 0; s < steps.size(); ++s) {
      if (wanted(steps[s])) return {p, s};
    }
  }
  FAIL("the plan has no such step");
  return {};
}

TEST_CASE("validate refuses a corrupted plan and names the place") {
  // A limit small enough for several bands, so that tiles have neighbours. Attention is removed, because its
  // workspace would need as much as all other passes untiled.
  static const json config = [] {
    json without = test::tiny_config();
    without["mid_block_add_attention"] = false;
    return without;
  }();
  // Shared by all sections.
  static const Planned ample("64MiB", config);
  static const int64_t smallest =
      named_limit({"--model", ample.model, "--size", "48x40", "-o", (ample.scratch / "x.json").string()});
  static const Planned planned(std::to_string(smallest + 30'000), config);
  json plan_document = planned.document();
  REQUIRE(plan_document["kept"].size() > 2);
  const auto refused = [&](const json& changed, const std::vector<std::string>& parts) {
    require_refused(planned.validate(changed), 2, parts);
    const Ended as_json = plan({"validate", planned.scratch / "changed.json", "--json"});
    CHECK(as_json.code == 2);
    const json found = json::parse(as_json.out);
    CHECK(found["valid"] == false);
    CHECK_FALSE(found["violations"].empty());
  };
  CHECK(planned.validate(plan_document).code == 0);

  SECTION("a skipped region") {
    size_t p = 0;
    while (p < plan_document["passes"].size() && plan_document["passes"][p]["tiles"]["y"].size() < 2) ++p;
    REQUIRE(p < plan_document["passes"].size());
    plan_document["passes"][p]["tiles"]["y"].erase(1);
    refused(plan_document, {"passes[" + std::to_string(p) + "]", "skipped region"});
  }
  SECTION("a peak above the limit") {
    plan_document["limit_bytes"] = plan_document["predicted"]["peak_bytes"].get<int64_t>() - 1;
    refused(plan_document, {"limit"});
  }
  SECTION("a step that is missing") {
    const auto [p, s] = find_step(plan_document, [](const json& step) { return step["kind"] == "emit"; });
    plan_document["passes"][p]["steps"].erase(s);
    refused(plan_document, {"output"});
  }
}

TEST_CASE("commands that read a plan find its model from the plan's folder, or say how to name it") {
  const Planned planned;
  json document = planned.document();
  const Scratch& scratch = planned.scratch;
  for (const char* folder : {"models/vae", "plans", "other"})
    std::filesystem::create_directories(scratch / folder);
  scratch.write("models/vae/config.json", test::tiny_config().dump());
  document["request"]["model"] = "models/vae";
  const std::string file = scratch.write("plans/plan.json", document.dump()).string();
  for (const Words& words : {Words{"explain", file}, {"validate", file}, {"diff", file, file}}) {
    const Ended ended = plan(words);
    CAPTURE(words[0], ended.err);
    CHECK(ended.code == 0);
  }
  document["request"]["model"] = "nowhere/vae";
  scratch.write("plans/plan.json", document.dump());
  for (const Words& words : {Words{"explain", file}, {"validate", file}, {"diff", file, file}}) {
    require_refused(plan(words), 2, {"plan.json: its model \"nowhere/vae\"", "--model DIR"});
    CHECK(plan(joined(words, {"--model", (scratch / "models/vae").string()})).code == 0);
  }
  json other = test::tiny_config();
  other["block_out_channels"] = {8, 16, 16, 16};
  other["up_block_types"] = json::array_t(4, "UpDecoderBlock2D");
  scratch.write("other/config.json", other.dump());
  require_refused(
      plan({"explain", file, "--model", (scratch / "other").string()}), 2,
      {"plan.json: ", "of this model", "the plan is for the model \"nowhere/vae\"", "--model DIR"});
}

TEST_CASE("a plan of another model with the same tensors is refused by the names of both models") {
  const Planned planned;
  json wider = test::tiny_config();
  for (json& channels : wider["block_out_channels"]) channels = 2 * channels.get<int>();
  std::filesystem::create_directory(planned.scratch / "wider");
  planned.scratch.write("wider/config.json", wider.dump());
  const std::string other = (planned.scratch / "wider").string();
  for (const char* command : {"explain", "validate"}) {
    const Ended ended = plan({command, planned.file, "--model", other});
    require_refused(
        ended, 2,
        {"plan.json: the plan is for the model \"" + planned.model + "\", not for \"" + other + "\""});
  }
  json corrupted = planned.document();
  corrupted["predicted"]["peak_bytes"] = 1;
  const Ended own = planned.validate(corrupted);
  CHECK(own.code == 2);
  CHECK_THAT(own.err, !Catch::Contains("the plan is for"));
}

TEST_CASE("explain summarises a plan") {
  const Planned planned;
  const json document = planned.document();
  const Ended summary = plan({"explain", planned.file});
  CHECK(summary.code == 0);
  CHECK(std::count(summary.out.begin(), summary.out.end(), '\n') <= 11);
  CHECK_THAT(summary.out, Catch::Contains("48x40, fp32 on cpu") && Catch::Contains("\nlower ") &&
                              Catch::Contains("--schedule"));
  CHECK_THAT(plan({"explain", planned.file, "--quick"}).out, Catch::Contains("not looked for (--quick)"));
  const json explained = json::parse(plan({"explain", planned.file, "--json"}).out);
  CHECK(explained["dtype"] == "fp32");
  CHECK(explained["peak"]["bytes"] == document["predicted"]["peak_bytes"]);
  CHECK(explained["remedies"].is_array());
}

TEST_CASE("explain --schedule prints all passes in order, and --pass one of them") {
  const Planned planned;
  const Ended all = plan({"explain", planned.file, "--schedule"});
  REQUIRE(all.code == 0);
  const size_t passes = planned.document()["passes"].size();
  for (size_t i = 0; i < passes; ++i)
    CHECK_THAT(all.out, Catch::Contains("\npass " + std::to_string(i) + "  "));
  CHECK_THAT(all.out, Catch::Contains("above the best") && Catch::Contains("by assumed costs") &&
                          Catch::Contains("emit conv_out") &&
                          Catch::Contains(": the predicted peak of the plan\n") &&
                          Catch::Contains("<- the peak of the plan\n") &&
                          Catch::Contains("; complete: the picture\n"));
  const Ended one = plan({"explain", planned.file, "--schedule", "--pass", "1"});
  REQUIRE(one.code == 0);
  CHECK_THAT(one.out, Catch::Contains("\npass 1  ") && !Catch::Contains("\npass 0  "));
  const auto refused = [&](const Words& words, const std::string& why) {
    require_refused(plan(joined({"explain", planned.file}, words)), 2, {why});
  };
  refused({"--schedule", "--json"}, "--schedule: not with --json");
  refused({"--schedule", "--profile", "p.json"}, "--schedule: not with --analyze or --profile");
  refused({"--pass", "1"}, "--pass: goes with --schedule");
  refused({"--schedule", "--pass", std::to_string(passes)},
          "--pass " + std::to_string(passes) + ": the plan has passes 0 to " + std::to_string(passes - 1));
}

TEST_CASE("SDXL at 8192x8192 in bf16 is planned under 48 GiB and its plan is valid") {
  const Scratch scratch;
  const std::string file = scratch / "plan.json";
  const Ended ended = plan({"--model", "sdxl", "--size", "8192x8192", "--dtype", "bf16", "--limit", "48GiB",
                            "--thrift", "0", "-o", file});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const json document = read_json_file(file, 1 << 28);
  CHECK(document["predicted"]["peak_bytes"] <= int64_t{48} << 30);
  CHECK(document["optimal"] == true);
  CHECK(document["request"]["dtype"] == "bf16");
  CHECK(plan({"validate", file}).code == 0);
}

TEST_CASE("thrift gives time for memory") {
  const Planned planned;
  const auto with = [&](const std::string& thrift) {
    const std::string file = planned.scratch / ("thrift" + thrift + ".json");
    const Ended ended = plan(
        {"--model", planned.model, "--size", "48x40", "--limit", "64MiB", "--thrift", thrift, "-o", file});
    REQUIRE(ended.code == 0);
    return read_json_file(file, 1 << 26);
  };
  const json fastest = with("0"), thrifty = with("100%");
  CHECK(fastest["optimal"] == true);
  CHECK(thrifty["predicted"]["peak_bytes"] < fastest["predicted"]["peak_bytes"]);
  CHECK(thrifty["predicted"]["seconds"] <= 2 * fastest["predicted"]["seconds"].get<double>());
  CHECK(thrifty["bound_seconds"] == fastest["bound_seconds"]);
  const Ended explained = plan({"explain", planned.scratch / "thrift100%.json"});
  CHECK_THAT(explained.out, Catch::Contains("of the limit, which would save at most "));
  require_refused(plan({"--model", planned.model, "--size", "48x40", "--limit", "64MiB", "--thrift", "5",
                        "-o", planned.file}),
                  2, {"--thrift: expected a share from 0 to 100% such as 5%, found '5'"});
  require_refused(plan({"--model", planned.model, "--size", "48x40", "--limit", "64MiB", "--ranks", "2",
                        "--thrift", "5%", "-o", planned.file}),
                  2, {"--thrift: not with --ranks"});
}

TEST_CASE("fp16 is fp32 for a model that overflows in it") {
  const Scratch scratch;
  const std::string file = scratch / "plan.json";
  for (const auto& [model, dtype] : {std::pair{"sdxl", "fp32"}, {"sd15", "fp16"}}) {
    REQUIRE(plan({"--model", model, "--size", "256x256", "--dtype", "fp16", "--limit", "1GiB", "-o", file})
                .code == 0);
    CHECK(read_json_file(file, 1 << 28)["request"]["dtype"] == dtype);
  }
}

}  // namespace
}  // namespace headroom::planner
