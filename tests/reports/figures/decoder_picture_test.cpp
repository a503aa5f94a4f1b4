#include "reports/figures/decoder_picture.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <tuple>

#include "decoder/families/load_model.h"
#include "tests/reports/figures/sample_documents.h"
#include "tests/support/random_graph.h"

namespace headroom::reports {
namespace {

using namespace test;
using namespace headroom::test;

/// Everything that must hold of a picture of a plan by assumed costs.
void check_picture(const PlanDocument& document) {
  const Graph& graph = document.model.graph;
  const Plan& plan = document.plan;
  const DecoderPicture picture = decoder_picture(document, nullptr);
  REQUIRE(picture.passes.size() == plan.passes.size());

  std::map<OpId, int> drawn_once;
  std::set<std::tuple<size_t, size_t, size_t>> spots;
  for (const DrawnNode& node : picture.nodes) {
    if (node.kind == DrawnKind::operation) drawn_once[node.op] += node.again ? 0 : 1;
    CHECK(spots.insert({node.pass, node.column, node.lane}).second);
    CHECK_FALSE(label_of(picture, node, graph).empty());
  }
  for (size_t op = 0; op < graph.ops().size(); ++op) {
    CAPTURE(graph.ops()[op].name);
    CHECK(drawn_once[OpId(op)] == 1);
  }
  for (const DrawnEdge& edge : picture.edges) {
    CHECK(picture.nodes[edge.from].pass == picture.nodes[edge.to].pass);
    CHECK(picture.nodes[edge.from].column < picture.nodes[edge.to].column);
  }

  size_t next = 0;
  int deciding = 0;
  for (size_t i = 0; i < picture.passes.size(); ++i) {
    CAPTURE(i);
    const DrawnPass& pass = picture.passes[i];
    CHECK(pass.first_node == next);
    next += pass.nodes;
    CHECK(total(pass.use) == plan.passes[i].predicted_peak_bytes);
    int64_t live = 0;
    for (const LiveEntry& entry : pass.live) live += entry.bytes;
    CHECK(live == total(pass.use));
    CHECK(pass.peak_tile < plan.passes[i].tiles.y.size() * plan.passes[i].tiles.x.size());
    CHECK(pass.peak_node >= pass.first_node);
    CHECK(pass.peak_node < next);
    deciding += pass.decides_peak ? 1 : 0;
    for (size_t n = pass.first_node; n < next; ++n) {
      CHECK(picture.nodes[n].pass == i);
      if (picture.nodes[n].ends_pass) CHECK(pass.ends_at_barrier);
    }
  }
  CHECK(next == picture.nodes.size());
  CHECK(deciding == 1);
  CHECK(picture.passes[picture.peak_pass].peak_bytes == plan.predicted_peak_bytes);

  // Exactly the kept tensors cross passes.
  const auto nodes_of = [&](DrawnKind kind) {
    std::set<std::pair<size_t, TensorId>> found;
    for (const DrawnNode& node : picture.nodes) {
      if (node.kind == kind && node.tensor != graph.input() && node.tensor != graph.output())
        found.emplace(node.pass, node.tensor);
    }
    return found;
  };
  std::set<std::pair<size_t, TensorId>> written, read;
  for (const DrawnKept& entry : picture.kept) {
    written.emplace(entry.first_pass, entry.tensor);
    for (const size_t pass : entry.read_in) {
      if (pass != entry.first_pass) read.emplace(pass, entry.tensor);
    }
    CHECK(entry.lane < picture.kept_lanes);
    for (const DrawnKept& other : picture.kept) {
      if (&other == &entry || other.lane != entry.lane) continue;
      CHECK((other.last_pass < entry.first_pass || entry.last_pass < other.first_pass));
    }
  }
  CHECK(nodes_of(DrawnKind::write) == written);
  CHECK(nodes_of(DrawnKind::read) == read);
}

PlanDocument plan_of(const std::string& model_name, int64_t frames, DeviceKind device) {
  const Model model = for_frames(resolve_model(model_name), frames);
  const Request request{model_name, 256, 256, frames, 1, Dtype::fp32, device};
  return planned(model, request, kAmple, planner::CostModel(model.graph, request.device));
}

TEST_CASE("picture of the decoder: each family has each operation once, and all that crosses passes kept") {
  const auto [name, frames] = GENERATE(table<std::string, int64_t>({{"sdxl", 1},
                                                                    {"sana-dc-ae-f32c32", 1},
                                                                    {"wan2.1", 9},
                                                                    {"wan2.1", 1},
                                                                    {"cogvideox", 9},
                                                                    {"hunyuan-video", 9},
                                                                    {"ltx-video", 9},
                                                                    {"hunyuan-image-2.1", 1},
                                                                    {"open-sora-plan", 9},
                                                                    {"seedvr2", 9},
                                                                    {"svd", 4},
                                                                    {"taesd", 1},
                                                                    {"wan2.2", 5}}));
  CAPTURE(name, frames);
  check_picture(plan_of(name, frames, DeviceKind::cpu));
}

TEST_CASE("picture of the decoder: under limits, where operations are carried out again") {
  const Model model = small_decoder();
  const Request request{"small", 512, 384, 1, 1, Dtype::fp32};
  const planner::CostModel costs(model.graph);
  const int64_t smallest = smallest_bytes(model, request, {}, costs);
  for (const int64_t limit : {smallest, smallest * 2, smallest * 8})
    check_picture(planned(model, request, limit, costs));
}

TEST_CASE("picture of the decoder: attention and statistics end passes, and are marked") {
  const PlanDocument document = plan_of("sdxl", 1, DeviceKind::cpu);
  const DecoderPicture picture = decoder_picture(document, nullptr);
  int statistics = 0, attention = 0;
  for (const DrawnNode& node : picture.nodes) {
    if (node.kind != DrawnKind::operation) continue;
    const OpKind kind = document.model.graph.op(node.op).kind;
    CHECK(node.ends_pass == (kind == OpKind::statistics));
    CHECK(node.needs_whole == (kind == OpKind::attention));
    statistics += node.ends_pass ? 1 : 0;
    attention += node.needs_whole ? 1 : 0;
  }
  CHECK(statistics > 20);
  CHECK(attention == 1);
  CHECK(picture.passes.front().stage == "conv_in");
  CHECK(label_of(picture, picture.nodes.front(), document.model.graph) == "latent");
  CHECK(label_of(picture, picture.nodes.back(), document.model.graph) == "picture");
  CHECK(shape_text(128, {1, 64, 32}) == "128 × 64 × 32");
  CHECK(shape_text(128, {9, 64, 32}) == "128 × 9 × 64 × 32");
}

TEST_CASE("picture of the decoder: what a run measured stands beside its passes") {
  const Model model = small_decoder();
  const planner::CostModel costs(model.graph);
  const PlanDocument document = planned(model, {"small", 512, 384, 1, 1, Dtype::fp32}, kAmple, costs);
  const RunStats run = run_as_predicted(document.plan);
  const DecoderPicture picture = decoder_picture(document, &run);
  for (size_t i = 0; i < picture.passes.size(); ++i) {
    REQUIRE(picture.passes[i].measured);
    CHECK(picture.passes[i].measured->name == document.plan.passes[i].name);
  }
}

}  // namespace
}  // namespace headroom::reports
