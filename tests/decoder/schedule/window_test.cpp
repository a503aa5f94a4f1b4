#include "decoder/schedule/window.h"

#include <catch2/catch.hpp>

#include "decoder/schedule/blocks.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/schedule/row_readers.h"
#include "tests/decoder/plan/small_plan.h"

namespace headroom {
namespace {

TEST_CASE("window: interpolation reads a row beside the rows that its own stand for", "[unit][memory]") {
  Graph graph;
  const TensorId start = graph.conv("start", graph.add_latent(4), 4, {1, 1, 1});
  const TensorId large = graph.interpolate("large", start, {1, 2, 2});
  graph.set_output(large);
  std::vector<bool> kept(graph.tensors().size());
  kept[index(start)] = true;
  PassGoal goal;
  goal.emits = true;
  const Pass pass = lower_pass(graph, kept, goal);
  REQUIRE(pass.steps.front().kind == OpKind::interpolate);
  REQUIRE(pass.steps.front().inputs.front() == Operand{start, -1});
  REQUIRE(pass.steps.front().halo == Halo{});
  const RowReaders readers(graph, pass, start, {.latent = {1, 8, 8}});
  // Rows 4 to 8 of the result map to source rows 2 to 4. With the halo, they read rows 1 to 5.
  CHECK(readers.first_row(4) == 1);
  CHECK(readers.last_row(8) == 5);
  // Rows up to 7 map to source rows up to 4, too.
  CHECK(readers.last_row(7) == 5);
  CHECK(readers.last_row(2) == 2);
  // The tensor ends after row 8.
  CHECK(readers.last_row(16) == 8);
  CHECK(readers.first_row(0) == 0);
}

TEST_CASE("window: blocks go back as soon as no later band reads them", "[unit][memory]") {
  const Graph graph = testing::small_graph();
  const Plan plan = testing::small_plan(graph);
  const Sizes sizes = sizes_of(graph, plan);
  // conv_in has four blocks of two rows. Pass 1 reads rows 0 to 4, 2 to 7 and 5 to 8.
  const Pass& pass = plan.passes[1];
  TensorUse use = use_of(plan.kept[0]);
  use.leaves = true;
  const Window leaving = window_of(graph, pass, use, sizes);
  CHECK(leaving.first == std::vector<int32_t>{0, 1, 2, 4});
  CHECK(leaving.before == std::vector<int32_t>{4, 4, 4});
  CHECK(leaving.after == leaving.before);
  // The device holds blocks of both items, all of them in the first band.
  const int64_t block_bytes = sizes.items * kept_block_bytes(graph, use, sizes);
  CHECK(leaving.bytes_before_store(0) == 4 * block_bytes);
  CHECK(leaving.bytes_before_store(1) == 3 * block_bytes);
  CHECK(leaving.bytes_before_store(2) == 2 * block_bytes);
  // Blocks stay if a later pass reads the tensor.
  use.leaves = false;
  CHECK(window_of(graph, pass, use, sizes).first == std::vector<int32_t>{0, 0, 0, 0});
  // Pass 0 writes rows 0 to 3, 3 to 6 and 6 to 8. Blocks in a lower tier leave the device once their last row
  // is written.
  use.written = true;
  const Window written = window_of(graph, plan.passes[0], use, sizes);
  CHECK(written.store_step == 3);
  CHECK(written.before == std::vector<int32_t>{0, 2, 3});
  CHECK(written.after == std::vector<int32_t>{2, 3, 4});
  use.tier = MemoryTier::scratch;
  const Window below = window_of(graph, plan.passes[0], use, sizes);
  CHECK(below.first == std::vector<int32_t>{0, 0, 1, 3});
  CHECK(below.completed(0) == Interval{0, 1});
  CHECK(below.completed(1) == Interval{1, 3});
  CHECK(below.completed(2) == Interval{3, 4});
  CHECK(below.stored(1) == Interval{2, 3});
  CHECK(below.given_back(0).length() == 0);
  CHECK(below.given_back(1) == below.completed(0));
  // Blocks are fetched for the band that reads them, and for the next one.
  use.written = false;
  const Window fetched = window_of(graph, pass, use, sizes);
  CHECK(fetched.fetched == std::vector<int32_t>{2, 4, 4});
  CHECK(fetched.fetched_for(0) == Interval{0, 2});
  CHECK(fetched.fetched_for(1) == Interval{2, 4});
  CHECK(fetched.fetched_for(2).length() == 0);
  CHECK(fetched.given_back(1) == Interval{1, 2});
  CHECK(fetched.before == std::vector<int32_t>{4, 4, 4});
  CHECK(fetched.first == std::vector<int32_t>{0, 1, 2, 4});
}

TEST_CASE("window: the decode in two passes of docs/architecture.md", "[unit][memory]") {
  Graph graph;
  const TensorId a = graph.conv("conv1", graph.add_latent(4), 4, {1, 3, 3});
  const TensorId norm =
      graph.norm("norm", a, graph.statistics("norm.statistics", a, 2, 1e-6), Activation::silu);
  graph.set_output(graph.conv("conv2", norm, 3, {1, 3, 3}));
  const Sizes sizes{.latent = {1, 12, 12}};
  std::vector<bool> kept(graph.tensors().size());
  const auto cut = [&](Pass pass) {
    pass.tiles = cut_grid(graph, pass, {1, 4, 12}, sizes);
    return pass;
  };
  PassGoal first;
  first.keeps = {a};
  first.statistics = {graph.find_op("norm.statistics")};
  const Pass writes = cut(lower_pass(graph, kept, first));
  kept[index(a)] = kept[index(graph.find_tensor("norm.statistics"))] = true;
  PassGoal second;
  second.emits = true;
  const Pass reads = cut(lower_pass(graph, kept, second));

  TensorUse use{.tensor = a, .block_rows = 5, .written = true};
  const Window written = window_of(graph, writes, use, sizes);
  CHECK(written.before == std::vector<int32_t>{0, 1, 2});
  CHECK(written.after == std::vector<int32_t>{1, 2, 3});
  use.written = false;
  use.leaves = true;
  const Window read = window_of(graph, reads, use, sizes);
  CHECK(read.first == std::vector<int32_t>{0, 0, 1, 3});
  CHECK(read.after == std::vector<int32_t>{3, 3, 3});
}

}  // namespace
}  // namespace headroom
