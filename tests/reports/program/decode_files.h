#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "decoder/plan/plan_file.h"
#include "decoder/plan/stats_file.h"
#include "planner/program/run.h"
#include "profiler/profile/profile_file.h"
#include "reports/figures/document.h"
#include "reports/program/run.h"
#include "tests/decoder/files/scratch.h"
#include "tests/reports/figures/sample_documents.h"
#include "tests/reports/figures/sample_gpu_trace.h"
#include "tests/reports/render/page_reader.h"
#include "tests/support/program.h"

// Inputs of headroom-report in its tests, and functions that run it and read its output.
namespace headroom::test {}
namespace headroom::reports::test {

using namespace headroom::test;

/// Files of one decode of a tiny model, all of it made up but the plan and the frontier.
struct DecodeFiles {
  Scratch scratch;
  std::string model, plan, stats, trace, profile, frontier;
  PlanDocument planned;
  RunStats ran;

  explicit DecodeFiles(const std::string& size = "64x48", const std::string& model_name = "model") {
    std::filesystem::create_directories(scratch / model_name);
    model = scratch.write(model_name + "/config.json", tiny_config().dump()).parent_path().string();
    plan = (scratch / "plan.json").string();
    frontier = (scratch / "frontier.json").string();
    REQUIRE(
        call(planner::run_plan, {"--model", model, "--size", size, "--limit", "12MiB", "-o", plan}).code ==
        0);
    REQUIRE(call(planner::run_plan,
                 {"frontier", "--model", model, "--size", size, "--points", "5", "-o", frontier})
                .code == 0);
    planned = *read_document(plan)->as<PlanDocument>();
    ran = run_with_figures_of_its_own();
    stats = (scratch / "stats.json").string();
    write_stats(stats, ran);
    trace = (scratch / "trace.json").string();
    write_trace(trace, recorded(), planned.plan, planned.model.graph);
    profile = scratch.write("profile.json", to_json(profiled()).dump()).string();
  }

  RunStats run_with_figures_of_its_own() const {
    RunStats stats_of_run = run_as_predicted(planned.plan);
    for (size_t i = 0; i < stats_of_run.passes.size(); ++i) {
      stats_of_run.passes[i].peak_bytes -= 1000 * static_cast<int64_t>(i) + 7;
      stats_of_run.passes[i].seconds *= 1.0 + 1.0 / (double(i) + 3);
    }
    stats_of_run.peak_bytes -= 12345;
    stats_of_run.seconds *= 1.25;
    stats_of_run.verification = Verification{"the untiled decode", 1e-6, 2.5e-7, 4, 140};
    return stats_of_run;
  }

  /// Weights, then a tile in each pass.
  Trace recorded() const {
    Trace made;
    made.model = model;
    made.request = planned.plan.request;
    made.device = "two cores";
    made.libraries = "LibTorch";
    made.limit_bytes = planned.plan.limit_bytes;
    made.events = {{.seconds = 0, .bytes = 1 << 20, .kind = MemoryKind::weights}};
    const TensorId tensor = planned.model.graph.input();
    double seconds = 0;
    for (size_t pass = 0; pass < planned.plan.passes.size(); ++pass, seconds += 1) {
      const auto number = static_cast<int32_t>(pass);
      const int64_t bytes = 4096 * (1 + static_cast<int64_t>(pass));
      made.events.push_back({seconds + 0.25, bytes, 0, number, tensor, MemoryKind::tile});
      made.events.push_back({seconds + 0.75, -bytes, 0, number, tensor, MemoryKind::tile});
      made.passes.push_back({.begin_seconds = seconds, .end_seconds = seconds + 1, .pass = number});
    }
    made.seconds = seconds;
    return made;
  }

  /// With a latency table, which files of version 2 have.
  static profiler::Profile profiled() {
    profiler::Profile made = made_up_profile();
    made.threads = 2;
    made.weights_source = "random";
    made.latency_tables = {{"law", {1, 8}, {8}, {1e-3, 2e-3}, {0, 64}}, {"sum", {1}, {1}, {1e-3}, {0}}};
    return made;
  }

  /// A trace of a GPU, of the same plan.
  std::string gpu_trace() const {
    const std::string file = output("gpu_trace.json");
    write_trace(file, test::gpu_trace(planned.plan), planned.plan, planned.model.graph);
    return file;
  }

  Words all() const { return {plan, stats, trace, profile, frontier}; }
  std::string output(const std::string& name) const { return (scratch / name).string(); }
};

/// The page of these files; requires that the program says one line and no warning.
inline std::unique_ptr<Element> page_of(const DecodeFiles& files, const Words& words) {
  const std::string file = files.output("report.html");
  const Ended ended = call(run_report, joined(words, {"-o", file}));
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  CHECK(ended.err.empty());
  CHECK(std::count(ended.out.begin(), ended.out.end(), '\n') == 1);
  return PageReader::read(read_bytes(file));
}

inline std::vector<std::string> sections_of(const Element& page) {
  std::vector<std::string> titles;
  for (const Element* head : page.all("h2")) titles.push_back(head->own_text);
  return titles;
}

inline nlohmann::json report_json(const Words& words) {
  const Ended ended = call(run_report, joined(words, {"--json"}));
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return nlohmann::json::parse(ended.out);
}

/// Sentences of the first section, one a line.
inline std::string sentences_of(const nlohmann::json& report) {
  std::string all;
  for (const nlohmann::json& part : report["sections"][0]["parts"]) {
    for (const nlohmann::json& sentence : part["sentences"]) all += sentence.get<std::string>() + "\n";
  }
  return all;
}

}  // namespace headroom::reports::test
