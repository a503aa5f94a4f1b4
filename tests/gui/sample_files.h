#pragma once

#include <QCoreApplication>
#include <QString>
#include <QStringList>
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "decoder/families/load_model.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/stats_file.h"
#include "decoder/trace/trace_file.h"
#include "gui/model/workspace.h"
#include "planner/search/frontier.h"
#include "planner/search/make_plan.h"
#include "profiler/profile/profile_file.h"
#include "tests/decoder/files/scratch.h"
#include "tests/gui/support/events.h"
#include "tests/reports/figures/sample_documents.h"
#include "tests/reports/figures/sample_gpu_trace.h"

namespace headroom::test {
using namespace reports::test;

/// Opens files, and waits until they are there or refused.
inline void open(gui::Workspace& workspace, const QStringList& files) {
  workspace.open(files);
  CHECK(workspace.busy());
  wait_until([&] { return !workspace.busy(); });
}

/// A run of the plan that takes half the time and, in each pass, all that the plan predicts for a moment.
inline Trace made_up_trace(const Plan& plan, const Graph& graph) {
  Trace trace;
  trace.model = plan.request.model;
  trace.device = "two cores";
  trace.libraries = "LibTorch";
  trace.request = plan.request;
  trace.limit_bytes = plan.limit_bytes;
  trace.events.push_back({0, plan.weights_bytes, -1, -1, TensorId{-1}, MemoryKind::weights});
  double at = 0.001;
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    const Pass& pass = plan.passes[i];
    const auto number = static_cast<int32_t>(i);
    const double length = std::max(pass.predicted_seconds / 2, 1e-3);
    // Weights that come pass by pass may leave less than the largest of them.
    const int64_t tile =
        std::max<int64_t>(4096, pass.predicted_peak_bytes - plan.weights_bytes - plan.reserve_bytes);
    const TensorId layer = pass.steps.front().tensor;
    trace.passes.push_back({at, at + length, 0, number, -1, -1});
    trace.tiles.push_back({at, at + length, 0, number, 0, -1});
    trace.events.push_back({at + length * 0.25, tile, 0, number, layer, MemoryKind::tile});
    trace.events.push_back({at + length * 0.75, -tile, 0, number, layer, MemoryKind::tile});
    trace.step_sums.push_back({number, 0, 1, length});
    at += length;
  }
  trace.outside = {{0, 0}, {at / 2, plan.reserve_bytes / 2}};
  trace.seconds = at;
  (void)graph;
  return trace;
}

/// One file of each kind that belong together, for the demo's model; besides, a trace of a GPU.
class SampleFiles {
 public:
  SampleFiles() : model_(resolve_model(HEADROOM_TEST_DATA "/demo_model")) {
    // A small picture: each test of a page plans it dozens of times.
    const Request request{HEADROOM_TEST_DATA "/demo_model", 64, 48, 1, 1, Dtype::fp32};
    const planner::CostModel costs(model_.graph);
    const int64_t smallest = smallest_bytes(model_, request, {}, costs);
    document_ = planned(model_, request, smallest + smallest / 4, costs);
    const Plan& plan = document_.plan;
    write_plan(folder_ / "plan.json", plan, model_.graph);
    write_stats(folder_ / "stats.json", run_as_predicted(plan));
    write_trace(folder_ / "trace.json", made_up_trace(plan, model_.graph), plan, model_.graph);
    write_trace(folder_ / "gpu_trace.json", gpu_trace(plan), plan, model_.graph);
    profiler::Profile profile = made_up_profile();
    profile.threads = 2;
    profile.latency_tables = {{"law", {1, 4}, {8, 16}, {0.1, 0.2, 0.3, 0.4}, {0, 0, 0, 0}, 3, 0.125},
                              {"sum", {1, 4}, {8}, {0.01, 0.02}, {0, 64}, 0, 0}};
    folder_.write("profile.json", to_json(profile).dump());
    folder_.write(
        "frontier.json",
        to_json(planner::frontier({model_, request, {}, costs}, 6), request, /*assumed=*/true).dump());
    for (const QString& name : all()) REQUIRE_NOTHROW(reports::read_document(name.toStdString()));
  }

  const reports::PlanDocument& plan() const { return document_; }
  const Scratch& folder() const { return folder_; }
  QString file(const std::string& name) const { return QString::fromStdString((folder_ / name).string()); }
  /// Another plan for the same picture, with four times the memory.
  QString ample_plan() const {
    if (!std::filesystem::exists(folder_ / "ample.json")) {
      const Plan& plan = document_.plan;
      const planner::CostModel costs(model_.graph);
      write_plan(folder_ / "ample.json", planned(model_, plan.request, plan.limit_bytes * 4, costs).plan,
                 model_.graph);
    }
    return file("ample.json");
  }
  QStringList all() const {
    return {file("plan.json"), file("stats.json"), file("trace.json"), file("profile.json"),
            file("frontier.json")};
  }

 private:
  Scratch folder_;
  Model model_;
  reports::PlanDocument document_;
};

/// Made once: planning takes a moment.
inline const SampleFiles& sample_files() {
  static const SampleFiles files;
  return files;
}

/// Files that are none of ours or are broken, each with a part of what must be said of it beside its name.
struct BadFile {
  std::string name, content, said;
};
inline std::vector<BadFile> bad_files() {
  const std::string plan = read_bytes(sample_files().folder() / "plan.json");
  return {
      {"empty.json", "", "no JSON object"},
      {"half.json", plan.substr(0, plan.size() / 2), "damaged or cut off"},
      {"picture.json", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16), "no JSON object"},
      {"foreign.json", R"({"name": "package", "version": "1.0.0"})", "schema"},
      {"newer.json", R"({"schema": "headroom.stats", "version": 99})", "version"},
      {"list.json", "[1, 2, 3]", "no JSON object"},
      {"snapshot.dat", std::string("\x80\x04\x95\x00\x01", 5), "this pickle is damaged or cut off: byte 2"},
      {"notes.txt", "What the peak is", "no JSON object"},
      {"wrong.json", R"({"schema": "headroom.trace", "version": 3, "seconds": "long"})", "wrong.json: "}};
}

}  // namespace headroom::test
