#include "decoder/lowering/block_windows.h"

#include <catch2/catch.hpp>

#include "decoder/lowering/blocks.h"
#include "decoder/lowering/build_plan.h"
#include "tests/decoder/plan/small_plan.h"

namespace headroom {
namespace {

TEST_CASE("block windows: interpolation reads a row beside the rows that its own stand for",
          "[unit][memory]") {
  Graph graph;
  const TensorId start = graph.conv("start", graph.add_latent(4), 4, {1, 1, 1});
  const TensorId large = graph.interpolate("large", start, {1, 2, 2});
  graph.set_output(large);
  std::vector<bool> kept(graph.tensors().size());
  kept[index(start)] = true;
  PassGoal goal;
  goal.emits = true;
  const Pass pass = lower_pass(graph, kept, goal);
  REQUIRE(pass.steps.front().kind == StepKind::interpolate);
  REQUIRE(pass.steps.front().inputs.front() == Operand{start, -1});
  REQUIRE(pass.steps.front().halo == Halo{});
  const RowReaders readers(graph, pass, start, {.latent = {1, 8, 8}});
  // Rows 4 to 8 of the result stand for rows 2 to 4, and lie between rows 1 to 5.
  CHECK(readers.first_row(4) == 1);
  CHECK(readers.last_row(8) == 5);
  // Rows to 7 stand for rows to 4 as well.
  CHECK(readers.last_row(7) == 5);
  CHECK(readers.last_row(2) == 2);
  // The tensor ends after row 8.
  CHECK(readers.last_row(16) == 8);
  CHECK(readers.first_row(0) == 0);
}

TEST_CASE("block windows: blocks go back as soon as no later band reads them", "[unit][memory]") {
  const Graph graph = testing::small_graph();
  const Plan plan = testing::small_plan(graph);
  const Sizes sizes = sizes_of(graph, plan);
  // conv_in has four blocks of two rows. Pass 1 reads rows 0 to 4, 2 to 7 and 5 to 8.
  const Pass& pass = plan.passes[1];
  const RowReaders readers(graph, pass, graph.find_tensor("conv_in"), sizes);
  const KeptInPass leaving{.kept = &plan.kept[0], .leaves = true};
  CHECK(blocks_released(readers, pass, leaving, 4, 0) == Interval{0, 1});
  CHECK(blocks_released(readers, pass, leaving, 4, 1) == Interval{1, 2});
  CHECK(blocks_released(readers, pass, leaving, 4, 2) == Interval{2, 4});
  // The device counts blocks of both items, all of them in the first band.
  const int64_t block_bytes = sizes.items * kept_block_bytes(graph, plan.kept[0], sizes);
  const LiveBlocks live(graph, pass, leaving, sizes);
  CHECK(live.before_store(0) == 4 * block_bytes);
  CHECK(live.before_store(1) == 3 * block_bytes);
  CHECK(live.before_store(2) == 2 * block_bytes);
  // Blocks of a tensor that a later pass reads stay.
  const LiveBlocks staying(graph, pass, {.kept = &plan.kept[0]}, sizes);
  CHECK(staying.before_store(2) == 4 * block_bytes);
}

}  // namespace
}  // namespace headroom
