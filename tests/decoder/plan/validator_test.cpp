#include "decoder/plan/validator.h"

#include "decoder/plan/builder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <vector>

#include "decoder/graph/errors.h"
#include "tests/decoder/plan/small_plan.h"

namespace headroom {
namespace {

using testing::kOneAround;
using testing::kPadOne;
using testing::kSmallLatent;
using testing::small_graph;
using testing::small_plan;
using testing::small_plan_below;
using testing::small_plan_in_place;
using testing::step_for;

std::string to_text(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& v : violations) text += v.place + ": " + name_of(v.kind) + ": " + v.what + "\n";
  return text;
}

/// The plan must be refused, and for this reason at this place before any other.
void refuses(const Plan& plan, const Graph& graph, Violation::Kind kind, const std::string& place) {
  const std::vector<Violation> found = validate(plan, graph, kSmallLatent);
  INFO(to_text(found));
  REQUIRE_FALSE(found.empty());
  CHECK(std::string(name_of(found[0].kind)) == name_of(kind));
  CHECK(found[0].place == place);
}

void accepts(const Plan& plan, const Graph& graph) {
  const std::vector<Violation> found = validate(plan, graph, kSmallLatent);
  INFO(to_text(found));
  CHECK(found.empty());
}

TEST_CASE("validator accepts sound plans", "[unit][validator]") {
  const Graph graph = small_graph();
  accepts(small_plan(graph), graph);
  const Graph pointwise = small_graph(1);
  accepts(small_plan_in_place(pointwise), pointwise);

  Plan swapped = small_plan(graph);
  std::swap(swapped.passes[1].steps[2].inputs[0], swapped.passes[1].steps[2].inputs[1]);
  accepts(swapped, graph);

  // Band 2 of the residual is first written by the second band of tiles, after conv_in let go of its band 0.
  Plan drained = small_plan(graph);
  drained.kept[1].blocks[2] = drained.kept[0].blocks[0];
  drained.kept[1].blocks[6] = drained.kept[0].blocks[4];
  accepts(drained, graph);
}

TEST_CASE("validator: a kept tensor is read before its write", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  std::swap(plan.passes[1], plan.passes[2]);
  plan.kept[1].first_pass = 2;
  refuses(plan, graph, Violation::read_before_write, "passes[1].steps[0] (upsample)");

  plan = small_plan(graph);
  plan.kept.erase(plan.kept.begin());
  plan.passes[0].steps.pop_back();
  refuses(plan, graph, Violation::read_before_write, "passes[1].steps[0] (norm)");

  plan = small_plan(graph);
  plan.passes[0].steps[1].inputs[0].step = 1;  // its own tile
  refuses(plan, graph, Violation::read_before_write, "passes[0].steps[1] (conv_in)");

  plan = small_plan(graph);  // statistics are complete only when the pass is
  plan.passes[0].steps.push_back(
      step_for(graph, StepKind::norm, "norm",
               {{graph.find_tensor("conv_in"), 1}, {graph.find_tensor("norm.statistics")}}));
  refuses(plan, graph, Violation::read_before_write, "passes[0].steps[4] (norm)");
}

TEST_CASE("validator: the pass that writes a tensor reads it back at its own positions only",
          "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  const TensorId start = graph.find_tensor("conv_in");
  plan.passes[0].steps.push_back(step_for(graph, StepKind::gather, "conv_in", {{start}}));
  accepts(plan, graph);
  plan.passes[0].steps.back().halo = kOneAround;
  refuses(plan, graph, Violation::read_before_write, "passes[0].steps[4] (conv_in)");
  plan.passes[0].steps.back().halo = {};
  std::swap(plan.passes[0].steps[3], plan.passes[0].steps[4]);  // read first, then store
  refuses(plan, graph, Violation::read_before_write, "passes[0].steps[3] (conv_in)");
}

TEST_CASE("validator: a kept tensor is read after its release", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.kept[0].last_pass = 0;
  refuses(plan, graph, Violation::read_after_release, "passes[1].steps[0] (norm)");
}

TEST_CASE("validator: a tile lacks its halo", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.passes[1].steps[0].halo.after.y = 0;
  refuses(plan, graph, Violation::missing_halo, "passes[1].steps[1] (conv)");

  plan = small_plan(graph);
  plan.passes[2].steps[0].pad.x = 0;  // no zeros left of the picture
  refuses(plan, graph, Violation::missing_halo, "passes[2].steps[1] (conv_out)");

  plan = small_plan(graph);  // more than its halo does no harm
  plan.passes[1].steps[0].halo.before.x = 2;
  plan.passes[1].steps[0].pad.x = 2;
  accepts(plan, graph);

  plan = small_plan(graph);  // a cone needs the sum of the halos
  const TensorId latent = graph.latent();
  plan.passes[1].steps.insert(plan.passes[1].steps.begin(),
                              {step_for(graph, StepKind::gather, "latent", {{latent}}, kOneAround, kPadOne),
                               step_for(graph, StepKind::conv, "conv_in", {{latent, 0}})});
  plan.passes[1].steps[2].inputs[0].step = 1;
  plan.passes[1].steps[3].inputs[0].step = 2;
  plan.passes[1].steps[4].inputs[0].step = 3;
  plan.passes[1].steps[5].inputs[0].step = 4;
  refuses(plan, graph, Violation::missing_halo, "passes[1].steps[2] (norm)");
  plan.passes[1].steps[0].halo = {{0, 2, 2}, {0, 2, 2}};
  plan.passes[1].steps[1].halo = kOneAround;
  accepts(plan, graph);
}

TEST_CASE("validator: regions skipped and computed twice", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.passes[1].tiles.y[1] = {4, 6};
  refuses(plan, graph, Violation::skipped_region, "passes[1].tiles.y");
  plan.passes[1].tiles.y[1] = {2, 6};
  refuses(plan, graph, Violation::computed_twice, "passes[1].tiles.y");
  plan.passes[1].tiles.y = {{0, 3}, {3, 6}};
  refuses(plan, graph, Violation::skipped_region, "passes[1].tiles.y");

  plan = small_plan(graph);
  plan.passes[0].steps.pop_back();
  refuses(plan, graph, Violation::skipped_region, "kept[0] (conv_in)");

  plan = small_plan(graph);
  plan.passes[1].steps.push_back(plan.passes[1].steps.back());
  refuses(plan, graph, Violation::computed_twice, "passes[1].steps[4] (residual)");

  plan = small_plan(graph);
  plan.passes[1].steps[3].halo = kOneAround;
  refuses(plan, graph, Violation::computed_twice, "passes[1].steps[3] (residual)");

  // A grid finer than the tensor, cut between two of its positions.
  plan = small_plan(graph);
  plan.passes[1].scale = {1, 2, 2};
  plan.passes[1].tiles = {{{0, 1}}, {{0, 5}, {5, 16}}, {{0, 16}}};
  refuses(plan, graph, Violation::computed_twice, "passes[1].steps[3] (residual)");
}

TEST_CASE("validator: statistics counted twice or missing", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.passes[1].steps.push_back(
      step_for(graph, StepKind::statistics, "norm.statistics", {{graph.find_tensor("conv_in")}}));
  refuses(plan, graph, Violation::statistics_twice, "passes[1].steps[4] (norm.statistics)");

  plan = small_plan(graph);
  plan.passes[0].steps[2].halo = kOneAround;
  refuses(plan, graph, Violation::statistics_twice, "passes[0].steps[2] (norm.statistics)");

  plan = small_plan(graph);
  plan.passes[0].scale = {1, 2, 2};
  plan.passes[0].tiles = {{{0, 1}}, {{0, 5}, {5, 16}}, {{0, 16}}};
  refuses(plan, graph, Violation::statistics_twice, "passes[0].steps[2] (norm.statistics)");

  plan = small_plan(graph);
  plan.passes[0].steps.erase(plan.passes[0].steps.begin() + 2);
  refuses(plan, graph, Violation::statistics_missing, "passes[1].steps[0] (norm)");
}

TEST_CASE("validator: a block in two owners", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.kept[1].blocks[1] = plan.kept[0].blocks[0];  // taken by the band of tiles that still reads it
  refuses(plan, graph, Violation::block_conflict, "kept[1] (residual)");
  plan = small_plan(graph);
  plan.kept[0].blocks[7] = plan.kept[0].blocks[3];
  refuses(plan, graph, Violation::block_conflict, "kept[0] (conv_in)");
}

TEST_CASE("validator: additions in place", "[unit][validator]") {
  const Graph graph = small_graph(1);
  Plan plan = small_plan_in_place(graph);
  std::swap(plan.kept[1].blocks[0], plan.kept[1].blocks[1]);
  refuses(plan, graph, Violation::malformed, "kept[1] (residual)");

  plan = small_plan_in_place(graph);  // read again after it has been added onto
  plan.passes[1].steps.push_back(
      step_for(graph, StepKind::gather, "conv_in", {{graph.find_tensor("conv_in")}}));
  refuses(plan, graph, Violation::read_after_release, "passes[1].steps[3] (conv_in)");

  plan = small_plan_in_place(graph);  // read in a neighbouring tile that may have been added onto
  plan.passes[1].steps[0].halo = kOneAround;
  plan.passes[1].steps[1].halo = kOneAround;
  refuses(plan, graph, Violation::read_after_release, "passes[1].steps[0] (norm)");

  plan = small_plan_in_place(graph);
  plan.kept[0].last_pass = 2;
  refuses(plan, graph, Violation::never_released, "kept[0] (conv_in)");
  plan.passes[2].steps.push_back(
      step_for(graph, StepKind::gather, "conv_in", {{graph.find_tensor("conv_in")}}));
  refuses(plan, graph, Violation::block_conflict, "kept[1] (residual)");
}

TEST_CASE("validator: blocks that nothing hands back", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.kept[0].last_pass = 2;
  refuses(plan, graph, Violation::never_released, "kept[0] (conv_in)");
}

TEST_CASE("validator: peaks are added up again", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  const int64_t resident = plan.weights_bytes + plan.reserve_bytes + 2048;
  // Pass 0: the latent takes 2048. The last band of tiles, two rows high, begins with three of conv_in's four
  // bands of 1024: a padded latent tile of 4 by 10 positions, 1280, and conv_in's tile, 1024, are gone before
  // the store.
  plan.passes[0].predicted_peak_bytes = resident + 3072 + 1280 + 1024;
  // Pass 1: five bands when a band of tiles begins, since conv_in's go as the residual's come; norm 3200,
  // conv 1536.
  plan.passes[1].predicted_peak_bytes = resident + 5120 + 3200 + 1536;
  // Pass 2: the residual whole; upsampled 8 by 10 positions are 5120, conv_out's tile 6 by 8 is 1152.
  plan.passes[2].predicted_peak_bytes = resident + 4096 + 5120 + 1152;
  plan.predicted_peak_bytes = plan.limit_bytes = plan.passes[2].predicted_peak_bytes;
  accepts(plan, graph);
  for (size_t p = 0; p < 3; ++p) {
    Plan less = plan;
    less.passes[p].predicted_peak_bytes -= 1;
    less.predicted_peak_bytes -= p == 2;
    refuses(less, graph, Violation::peak_understated,
            "passes[" + std::to_string(p) + "].predicted.peak_bytes");
  }
  plan.limit_bytes -= 1;
  refuses(plan, graph, Violation::peak_above_limit, "passes[2]");
  plan.limit_bytes += 1;
  plan.predicted_peak_bytes -= 1;
  refuses(plan, graph, Violation::peak_understated, "predicted.peak_bytes");

  // Tiles side by side: the second finds the blocks that the first acquired, so its convolution runs beside
  // six.
  plan = small_plan(graph);
  plan.passes[1].tiles.x = {{0, 4}, {4, 8}};
  plan.passes[1].predicted_peak_bytes = resident + 6144 + 5 * 6 * 64 + 3 * 4 * 64;
  accepts(plan, graph);
  plan.passes[1].predicted_peak_bytes -= 1;
  refuses(plan, graph, Violation::peak_understated, "passes[1].predicted.peak_bytes");

  plan = small_plan(graph);
  plan.limit_bytes = 25'999;
  refuses(plan, graph, Violation::peak_above_limit, "predicted.peak_bytes");

  const Graph pointwise = small_graph(1);
  plan = small_plan_in_place(pointwise);  // blocks taken over count once: 4096, norm 1536 and conv 1536
  const int64_t smaller = 4672 - (8 * 16 * 4 + 64);  // the block's kernel has one tap
  plan.passes[1].predicted_peak_bytes = resident - smaller + 4096 + 1536 + 1536;
  accepts(plan, pointwise);
  plan.passes[1].predicted_peak_bytes -= 1;
  refuses(plan, pointwise, Violation::peak_understated, "passes[1].predicted.peak_bytes");
}

TEST_CASE("validator: a block has all frames of its rows", "[unit][validator]") {
  const Graph graph = small_graph();
  const Extent clip{3, 8, 8};
  Plan plan = small_plan(graph);
  for (Pass& pass : plan.passes) pass.tiles.t = {{0, 3}};
  plan.limit_bytes = 60'000;
  plan.predicted_peak_bytes = 0;
  // As for single pictures, but everything three times; as many blocks.
  const int64_t resident = plan.weights_bytes + plan.reserve_bytes;
  const std::vector<int64_t> working{3072 + 1280 + 1024, 5120 + 3200 + 1536, 4096 + 5120 + 1152};
  for (size_t p = 0; p < 3; ++p) {
    plan.passes[p].predicted_peak_bytes = resident + 3 * (2048 + working[p]);
    plan.predicted_peak_bytes = std::max(plan.predicted_peak_bytes, plan.passes[p].predicted_peak_bytes);
  }
  CHECK(to_text(validate(plan, graph, clip)).empty());
  for (size_t p = 0; p < 2; ++p) {
    Plan less = plan;
    less.passes[p].predicted_peak_bytes -= 1;
    const std::vector<Violation> found = validate(less, graph, clip);
    REQUIRE_FALSE(found.empty());
    CHECK(found[0].place == "passes[" + std::to_string(p) + "].predicted.peak_bytes");
  }
  // Blocks per frame are the other reading, which this is not.
  Plan per_frame = plan;
  for (int32_t block = 16; block < 32; ++block) per_frame.kept[0].blocks.push_back(block);
  CHECK(validate(per_frame, graph, clip)[0].place == "kept[0] (conv_in).blocks");

  // Cut along the time, the sweep comes back to every block once more: the first to go goes with the last of
  // the tiles.
  plan.passes[1].tiles.t = {{0, 1}, {1, 3}};
  plan.kept[1].blocks[2] = plan.kept[0].blocks[0];
  const std::vector<Violation> found = validate(plan, graph, clip);
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].kind == Violation::block_conflict);
}

TEST_CASE("validator: places below the device", "[unit][validator]") {
  const Graph graph = small_graph();
  accepts(small_plan_below(graph), graph);
  Plan in_host = small_plan_below(graph);
  in_host.kept[0].place = Place::host;
  in_host.host_limit_bytes = 4096;
  in_host.scratch_folder.clear();
  in_host.scratch_limit_bytes = 0;
  accepts(in_host, graph);

  Plan plan = small_plan_below(graph);
  plan.scratch_folder.clear();
  refuses(plan, graph, Violation::malformed, "kept[0] (conv_in).place");
  plan = small_plan_below(graph);
  plan.kept[0].place = Place{77};
  refuses(plan, graph, Violation::malformed, "kept[0] (conv_in).place");
  plan = small_plan_below(graph);
  plan.scratch_limit_bytes -= 1;
  refuses(plan, graph, Violation::peak_above_limit, "scratch.limit_bytes");
  plan.scratch_limit_bytes = -1;
  refuses(plan, graph, Violation::malformed, "scratch.limit_bytes");
  plan = in_host;
  plan.host_limit_bytes -= 1;
  refuses(plan, graph, Violation::peak_above_limit, "host_limit_bytes");
  plan.host_limit_bytes = -1;
  refuses(plan, graph, Violation::malformed, "host_limit_bytes");

  // A block at the end of an item is as large as the others.
  plan = small_plan_below(graph);
  plan.kept[0].block_rows = 3;
  plan.kept[0].blocks = {0, 1, 2, 3, 4, 5};
  plan.scratch_limit_bytes = 9 * 8 * 8 * 4 * 2;
  plan.passes[1].predicted_peak_bytes = plan.predicted_peak_bytes = plan.limit_bytes;
  accepts(plan, graph);
  plan.scratch_limit_bytes -= 1;
  refuses(plan, graph, Violation::peak_above_limit, "scratch.limit_bytes");

  // Both tensors are there while the second pass reads the one and writes the other.
  plan = small_plan_below(graph);
  plan.kept[1].place = Place::scratch;
  plan.scratch_limit_bytes = 8192;
  accepts(plan, graph);
  plan.scratch_limit_bytes -= 1;
  refuses(plan, graph, Violation::peak_above_limit, "scratch.limit_bytes");
  plan.kept[1].place = Place::host;  // each place has its own limit
  plan.host_limit_bytes = 4096;
  plan.scratch_limit_bytes = 4096;
  accepts(plan, graph);
}

TEST_CASE("validator: each place counts its own blocks", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan_below(graph);
  plan.kept[1].blocks = plan.kept[0].blocks;
  accepts(plan, graph);
  plan.kept[1].place = Place::host;
  plan.host_limit_bytes = 4096;
  accepts(plan, graph);
  plan.kept[1].place = Place::scratch;
  plan.scratch_limit_bytes = 8192;
  refuses(plan, graph, Violation::block_conflict, "kept[1] (residual)");

  // On the device a block changes hands within a pass; below it only between passes.
  plan.kept[1].blocks = {8, 9, 10, 11, 12, 13, 14, 15};
  accepts(plan, graph);
  plan.kept[1].blocks[2] = plan.kept[0].blocks[0];
  plan.kept[1].blocks[6] = plan.kept[0].blocks[4];
  refuses(plan, graph, Violation::block_conflict, "kept[1] (residual)");
  plan.kept[0].place = plan.kept[1].place = Place::device;
  accepts(plan, graph);

  // A number of the device that comes between two owners of the same number below it does not hide them from
  // each other.
  plan = small_plan_below(graph);
  const TensorId start = graph.find_tensor("conv_in"), change = graph.find_tensor("conv"),
                 sum = graph.find_tensor("residual");
  Pass adds = plan.passes[1];
  adds.steps = {step_for(graph, StepKind::add, "residual", {{change}, {start}}),
                step_for(graph, StepKind::store, "residual", {{sum, 0}})};
  plan.passes[1].steps.resize(2);
  plan.passes[1].steps.push_back(step_for(graph, StepKind::store, "conv", {{change, 1}}));
  plan.passes.insert(plan.passes.begin() + 2, adds);
  plan.kept[0].last_pass = 2;
  plan.kept[1] = {sum, 2, {8, 9, 10, 11, 12, 13, 14, 15}, 2, 3, TensorId{-1}, Place::scratch};
  plan.kept.push_back({change, 2, {7, 6, 5, 4, 3, 2, 1, 0}, 1, 2});
  plan.scratch_limit_bytes = 8192;
  accepts(plan, graph);
  plan.kept[1].blocks[0] = 6;
  refuses(plan, graph, Violation::block_conflict, "kept[1] (residual)");
}

TEST_CASE("validator: what must be on the device", "[unit][validator]") {
  const Graph pointwise = small_graph(1);
  for (size_t entry : {size_t{0}, size_t{1}}) {
    Plan plan = small_plan_in_place(pointwise);
    plan.scratch_folder = "/scratch";
    plan.scratch_limit_bytes = 1 << 20;
    plan.kept[entry].place = Place::scratch;
    refuses(plan, pointwise, Violation::misplaced,
            entry == 0 ? "kept[0] (conv_in).place" : "kept[1] (residual).place");
  }

  Graph graph;  // every tile of queries reads all keys and values
  const TensorId latent = graph.add_latent(4);
  const TensorId query = graph.conv("query", latent, 4, {1, 1, 1});
  const TensorId key = graph.conv("key", latent, 4, {1, 1, 1});
  const TensorId value = graph.conv("value", latent, 4, {1, 1, 1});
  graph.set_output(graph.attention("attention", query, key, value));
  Plan plan = small_plan(small_graph());
  plan.kept = {{query, 2, {0, 1, 2, 3, 4, 5, 6, 7}, 0, 1},
               {key, 2, {8, 9, 10, 11, 12, 13, 14, 15}, 0, 1},
               {value, 2, {16, 17, 18, 19, 20, 21, 22, 23}, 0, 1}};
  plan.passes.resize(2);
  plan.passes[0].steps = {step_for(graph, StepKind::gather, "latent", {{latent}})};
  for (const char* name : {"query", "key", "value"}) {
    const auto made = static_cast<int32_t>(plan.passes[0].steps.size());
    plan.passes[0].steps.push_back(step_for(graph, StepKind::conv, name, {{latent, 0}}));
    plan.passes[0].steps.push_back(step_for(graph, StepKind::store, name, {{graph.find_tensor(name), made}}));
  }
  plan.passes[1].steps = {step_for(graph, StepKind::attention, "attention", {{query}, {key}, {value}}),
                          step_for(graph, StepKind::emit, "attention", {{graph.output(), 0}})};
  plan.scratch_folder = "/scratch";
  plan.scratch_limit_bytes = 1 << 20;
  accepts(plan, graph);
  plan.kept[0].place = Place::scratch;
  accepts(plan, graph);
  for (size_t entry : {size_t{1}, size_t{2}}) {
    Plan below = plan;
    below.kept[entry].place = Place::scratch;
    refuses(below, graph, Violation::misplaced, "passes[1].steps[0] (attention)");
  }
}

/// The plan is sound with this peak of one pass, and not with a byte less.
void needs(Plan plan, const Graph& graph, size_t pass, int64_t bytes) {
  plan.passes[pass].predicted_peak_bytes = bytes;
  plan.predicted_peak_bytes = 0;
  for (const Pass& p : plan.passes)
    plan.predicted_peak_bytes = std::max(plan.predicted_peak_bytes, p.predicted_peak_bytes);
  accepts(plan, graph);
  plan.passes[pass].predicted_peak_bytes -= 1;
  plan.predicted_peak_bytes = 0;
  for (const Pass& p : plan.passes)
    plan.predicted_peak_bytes = std::max(plan.predicted_peak_bytes, p.predicted_peak_bytes);
  refuses(plan, graph, Violation::peak_understated,
          "passes[" + std::to_string(pass) + "].predicted.peak_bytes");
}

TEST_CASE("validator: below the device only a window of blocks is on it", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan_below(graph);
  const int64_t resident = plan.weights_bytes + plan.reserve_bytes + 2048;
  // Pass 0 touches blocks {0, 1}, {1, 2}, {3} of 1024 bytes, the last ones of a band of tiles incomplete.
  // Each is there until the band after its last one: two as a band begins, beside the latent's tile 1600 and
  // conv_in's 1536.
  needs(plan, graph, 0, resident + 2048 + 1600 + 1536);

  // Bands of one row: a block of four fills up while four of them pass, and the fifth takes the next one
  // beside it.
  Plan rows = small_plan_below(graph, 4);
  rows.passes[0].tiles.y.clear();
  for (int64_t y = 0; y < 8; ++y) rows.passes[0].tiles.y.push_back({y, y + 1});
  needs(rows, graph, 0, resident + 2 * 2048 + 512);

  // Pass 1 reads rows [0, 4), [2, 7), [5, 8), here in blocks of a row, 512 bytes. The second band has six of
  // them: its own five and the last, which is being fetched. The residual's blocks and tiles are those of the
  // plan without.
  needs(small_plan_below(graph, 1), graph, 1, resident + 6 * 512 + 2048 + 3200 + 1536);
  // Pass 2 knows nothing of conv_in any more.
  needs(plan, graph, 2, resident + 4096 + 5120 + 1152);

  // Read by pass 2 alone, conv_in leaves no bytes in pass 1: there the residual's take all.
  Plan idle = small_plan_below(graph, 1);
  const TensorId latent = graph.latent(), start = graph.find_tensor("conv_in"),
                 normal = graph.find_tensor("norm");
  idle.passes[1].steps = {
      step_for(graph, StepKind::gather, "latent", {{latent}}, {{0, 2, 2}, {0, 2, 2}}, {0, 1, 1}),
      step_for(graph, StepKind::conv, "conv_in", {{latent, 0}}, kOneAround),
      step_for(graph, StepKind::norm, "norm", {{start, 1}, {graph.find_tensor("norm.statistics")}},
               kOneAround, kPadOne),
      step_for(graph, StepKind::conv, "conv", {{normal, 2}}),
      step_for(graph, StepKind::add, "residual", {{graph.find_tensor("conv"), 3}, {start, 1}}),
      step_for(graph, StepKind::store, "residual", {{graph.find_tensor("residual"), 4}})};
  idle.passes[2].steps.push_back(step_for(graph, StepKind::gather, "conv_in", {{start}}));
  idle.kept[0].last_pass = 2;
  idle.limit_bytes = idle.passes[2].predicted_peak_bytes = 30'000;
  // conv_in 5 by 8, norm 5 by 10, conv 3 by 8 of 64 bytes; two of the residual's blocks as the second band
  // begins. The last band has a third, but lower tiles.
  needs(idle, graph, 1, resident + 2048 + 64 * (5 * 8 + 5 * 10 + 3 * 8));
}

TEST_CASE("validator: kernels in the Winograd form count with the pass", "[unit][validator]") {
  for (const bool upsamples : {false, true}) {
    Graph graph;
    const TensorId latent = graph.add_latent(16);
    graph.set_output(upsamples ? graph.upsampled_conv("conv", latent, 3)
                               : graph.conv("conv", latent, 3, {1, 3, 3}));
    const int64_t direct = (upsamples ? 16 : 9) * 16 * 16 * 4 + 64,
                  winograd = (upsamples ? 64 : 36) * 16 * 16 * 4;
    Model model;
    model.graph = graph;
    Request request{"small", upsamples ? 16 : 8, upsamples ? 16 : 8, 1, 1, Dtype::fp32};
    for (const auto& [residency, bytes] : {std::pair{WeightResidency::resident, direct + winograd},
                                           {WeightResidency::per_pass, winograd + 64}}) {
      PassDecision decision;
      decision.tile = {1, 64, 64};
      decision.convolutions = ConvolutionForm::winograd;
      Plan plan = build_plan(model, request, {1, residency}, {decision}, {});
      plan.limit_bytes = plan.predicted_peak_bytes;
      CHECK(plan.weights_bytes == bytes);
      accepts(plan, graph);
      plan.weights_bytes -= 1;
      refuses(plan, graph, Violation::peak_understated, "weights_bytes");
      plan.weights_bytes += 1;
      plan.passes[0].convolutions = ConvolutionForm{7};
      refuses(plan, graph, Violation::malformed, "passes[0].convolutions");
    }
  }
}

TEST_CASE("validator: weights, all of them or by pass", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.weights_bytes -= 1;
  refuses(plan, graph, Violation::peak_understated, "weights_bytes");
  plan.request.dtype = Dtype::bf16;  // packed in fp32 all the same
  refuses(plan, graph, Violation::peak_understated, "weights_bytes");
  plan.weights_bytes += 1;
  accepts(plan, graph);

  plan = small_plan(graph);
  plan.weights = WeightResidency::per_pass;
  plan.weights_bytes = 128 + 4672;  // pass 1: norm and conv
  accepts(plan, graph);
  plan.weights_bytes -= 1;
  refuses(plan, graph, Violation::peak_understated, "weights_bytes");
  plan.weights_bytes += 1;
  const int64_t fixed = plan.reserve_bytes + 2048;
  needs(plan, graph, 0, 2368 + fixed + 3072 + 1280 + 1024);
  needs(plan, graph, 1, 128 + 4672 + fixed + 5120 + 3200 + 1536);
  needs(plan, graph, 2, 4672 + fixed + 4096 + 5120 + 1152);

  // Two steps of one operation share its parameters.
  plan.passes[1].steps.push_back(plan.passes[1].steps[0]);
  accepts(plan, graph);
  plan.weights = WeightResidency{5};
  refuses(plan, graph, Violation::malformed, "weights");
}

TEST_CASE("validator: the bound and what is proven", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.optimal = true;
  accepts(plan, graph);  // files of version 1 have no bound
  plan.bound_seconds = plan.predicted_seconds;
  accepts(plan, graph);
  plan.bound_seconds = plan.predicted_seconds * (1 - 1e-7);
  accepts(plan, graph);
  plan.bound_seconds = plan.predicted_seconds * (1 - 1e-5);
  refuses(plan, graph, Violation::malformed, "optimal");
  plan.optimal = false;
  accepts(plan, graph);
  plan.bound_seconds = plan.predicted_seconds * (1 + 1e-10);
  accepts(plan, graph);
  plan.bound_seconds = plan.predicted_seconds * (1 + 1e-8);
  refuses(plan, graph, Violation::malformed, "bound_seconds");
  for (double bound :
       {-1.0, -1e-300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    plan.bound_seconds = bound;
    refuses(plan, graph, Violation::malformed, "bound_seconds");
  }
}

TEST_CASE("validator: the output, once", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.passes[2].steps.pop_back();
  refuses(plan, graph, Violation::wrong_output, "passes");
  plan = small_plan(graph);
  plan.passes[2].steps.push_back(plan.passes[2].steps.back());
  refuses(plan, graph, Violation::wrong_output, "passes[2].steps[3] (conv_out)");
  plan = small_plan(graph);
  plan.passes[1].steps.push_back(
      step_for(graph, StepKind::emit, "residual", {{graph.find_tensor("residual"), 2}}));
  refuses(plan, graph, Violation::wrong_output, "passes[1].steps[4] (residual)");
}

TEST_CASE("validator: malformed steps", "[unit][validator]") {
  const Graph graph = small_graph();
  const auto refuses_step = [&](size_t pass, size_t step, auto change, const std::string& place) {
    Plan plan = small_plan(graph);
    change(plan.passes[pass].steps[step]);
    refuses(plan, graph, Violation::malformed, place);
  };
  const std::string conv = "passes[0].steps[1] (conv_in)";
  refuses_step(
      0, 1, [](Step& s) { s.inputs.clear(); }, conv);
  refuses_step(
      0, 1, [](Step& s) { s.inputs.push_back(s.inputs[0]); }, conv);
  refuses_step(
      0, 1, [](Step& s) { s.inputs[0].step = -1; }, conv);
  refuses_step(
      0, 1, [](Step& s) { s.inputs[0].tensor = TensorId{2}; }, conv);
  refuses_step(
      0, 1, [](Step& s) { s.op = OpId{-1}; }, conv);
  refuses_step(
      0, 1, [](Step& s) { s.op = OpId{999}; }, conv);
  refuses_step(
      0, 1, [](Step& s) { s.pad = kPadOne; }, conv);
  refuses_step(
      0, 1, [](Step& s) { s.halo.before.y = -1; }, conv);
  refuses_step(
      0, 1, [](Step& s) { s.kind = StepKind{77}; }, conv);
  refuses_step(
      0, 1, [](Step& s) { s.tensor = TensorId{-7}; }, "passes[0].steps[1] (tensor -7)");
  refuses_step(
      0, 0, [](Step& s) { s.op = OpId{0}; }, "passes[0].steps[0] (latent)");
  refuses_step(
      1, 0, [](Step& s) { s.inputs[1].step = 0; }, "passes[1].steps[0] (norm)");
  refuses_step(
      1, 3, [](Step& s) { s.inputs[0].step = 1; }, "passes[1].steps[3] (residual)");
  refuses_step(
      1, 1, [&](Step& s) { s.op = graph.find_op("conv_out"); }, "passes[1].steps[1] (conv)");
}

TEST_CASE("validator: malformed outlines", "[unit][validator]") {
  const Graph graph = small_graph();
  const auto refuses_plan = [&](auto change, const std::string& place) {
    Plan plan = small_plan(graph);
    change(plan);
    refuses(plan, graph, Violation::malformed, place);
  };
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  refuses_plan([](Plan& p) { p.slice = 3; }, "slice_items");
  refuses_plan([](Plan& p) { p.slice = 0; }, "slice_items");
  refuses_plan([](Plan& p) { p.limit_bytes = -1; }, "limit_bytes");
  refuses_plan([](Plan& p) { p.predicted_seconds = std::numeric_limits<double>::quiet_NaN(); },
               "predicted.seconds");
  refuses_plan([](Plan& p) { p.kept[0].tensor = TensorId{99}; }, "kept[0] (tensor 99).tensor");
  refuses_plan([](Plan& p) { p.kept[0].tensor = TensorId{0}; }, "kept[0] (latent).tensor");
  refuses_plan([](Plan& p) { p.kept[1] = p.kept[0]; }, "kept[0] (conv_in).tensor");
  refuses_plan([](Plan& p) { p.kept[0].blocks.pop_back(); }, "kept[0] (conv_in).blocks");
  refuses_plan([](Plan& p) { p.kept[0].blocks[3] = -1; }, "kept[0] (conv_in).blocks");
  refuses_plan([](Plan& p) { p.kept[0].block_rows = 0; }, "kept[0] (conv_in).block_rows");
  refuses_plan([](Plan& p) { p.kept[0].block_rows = kLargest; }, "kept[0] (conv_in).blocks");
  refuses_plan([](Plan& p) { p.kept[0].first_pass = -1; }, "kept[0] (conv_in).first_pass");
  refuses_plan([](Plan& p) { p.kept[0].last_pass = 3; }, "kept[0] (conv_in).last_pass");
  refuses_plan([](Plan& p) { p.kept[0].in_place_of = TensorId{1}; }, "kept[0] (conv_in).in_place_of");
  refuses_plan([](Plan& p) { p.passes[0].scale.y = 0; }, "passes[0].scale");
  refuses_plan([](Plan& p) { p.passes[0].tiles.y[2].end = kLargest; }, "passes[0].tiles.y");
  refuses_plan([](Plan& p) { p.passes[0].tiles.y[1] = {6, 3}; }, "passes[0].tiles.y");
  refuses_plan(
      [](Plan& p) {
        p.kept[1].first_pass = 2;
        p.kept[1].last_pass = 2;
      },
      "kept[1] (residual)");

  CHECK(validate(small_plan(graph), graph, {1, 0, 8})[0].kind == Violation::malformed);
  CHECK(validate(small_plan(graph), graph, {kLargest, kLargest, kLargest})[0].kind == Violation::malformed);
  CHECK(validate(Plan{}, Graph{}, kSmallLatent)[0].kind == Violation::malformed);
}

TEST_CASE("validator: bytes that overflow pass the limit", "[unit][validator]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  plan.weights_bytes = std::numeric_limits<int64_t>::max();
  plan.reserve_bytes = std::numeric_limits<int64_t>::max();
  refuses(plan, graph, Violation::peak_above_limit, "passes[0]");
}

TEST_CASE("validator: random damage is refused or harmless, never a crash", "[unit][validator]") {
  const uint32_t seed = 20260;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto pick = [&](auto& list) -> auto& {
    return list[random() % list.size()];
  };
  const Graph graph = small_graph();
  std::vector<int64_t> values{0, 1, -1, 2, 3, 7, 1 << 20, INT32_MAX, INT32_MIN};
  for (int round = 0; round < 20'000; ++round) {
    Plan plan = random() % 2 == 0 ? small_plan(graph) : small_plan_below(graph);
    for (int change = 0; change < 3; ++change) {
      const auto value = static_cast<int32_t>(pick(values));
      Pass& pass = pick(plan.passes);
      Step& step = pick(pass.steps);
      Kept& kept = pick(plan.kept);
      switch (random() % 18) {
        case 0:
          step.kind = StepKind{value};
          break;
        case 1:
          step.op = OpId{value};
          break;
        case 2:
          step.tensor = TensorId{value};
          break;
        case 3:
          step.halo.before.y = value;
          break;
        case 4:
          step.pad.x = value;
          break;
        case 5:
          if (!step.inputs.empty()) step.inputs[0].step = value;
          break;
        case 6:
          if (!step.inputs.empty()) step.inputs[0].tensor = TensorId{value};
          break;
        case 7:
          kept.block_rows = value;
          break;
        case 8:
          kept.last_pass = value;
          break;
        case 9:
          kept.in_place_of = TensorId{value};
          break;
        case 10:
          pass.scale.y = value;
          break;
        case 11:
          pick(pass.tiles.y).end = value;
          break;
        case 12:
          plan.slice = value;
          break;
        case 13:
          std::swap(step, pick(pass.steps));
          break;
        case 14:
          kept.place = Place{value};
          break;
        case 15:
          plan.weights = WeightResidency{value};
          break;
        case 16:
          plan.scratch_limit_bytes = value;
          break;
        case 17:
          pick(pass.tiles.t).end = value;
          break;
      }
    }
    REQUIRE(validate(plan, graph, kSmallLatent).size() <= 20);
  }
}

TEST_CASE("validator: require_valid names file, place and reason", "[unit][validator]") {
  Model model;
  model.graph = small_graph();
  Plan plan = small_plan(model.graph);
  CHECK_NOTHROW(require_valid(plan, model, "plan.json"));
  plan.passes[1].steps[0].halo.after.y = 0;
  CHECK_THROWS_WITH(require_valid(plan, model, "plan.json"),
                    Catch::StartsWith("plan.json: passes[1].steps[1] (conv): tile without its halo: needs"));
  plan.request.width_pixels = 17;
  CHECK_THROWS_AS(require_valid(plan, model, "plan.json"), InputError);
}

}  // namespace
}  // namespace headroom
