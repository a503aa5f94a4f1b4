#include "reports/figures/treemap.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/reports/figures/sample_documents.h"
#include "tests/support/random_graph.h"

namespace headroom::reports {
namespace {

using namespace test;

bool overlap(const TreemapTile& a, const TreemapTile& b) {
  constexpr double kRounding = 1e-6;
  return a.x + a.width > b.x + kRounding && b.x + b.width > a.x + kRounding &&
         a.y + a.height > b.y + kRounding && b.y + b.height > a.y + kRounding;
}

void check_treemap(const std::vector<LiveEntry>& entries, double width, double height) {
  const std::vector<TreemapTile> tiles = treemap(entries, width, height);
  int64_t all = 0, shown = 0;
  for (const LiveEntry& entry : entries) all += entry.bytes;
  double area = 0;
  std::vector<TreemapTile> leaves;
  for (const TreemapTile& tile : tiles) {
    CHECK(tile.x >= -1e-6);
    CHECK(tile.y >= -1e-6);
    CHECK(tile.x + tile.width <= width + 1e-6);
    CHECK(tile.y + tile.height <= height + 1e-6);
    CHECK(tile.width * tile.height == Approx(width * height * double(tile.bytes) / double(all)));
    if (tile.module) continue;
    shown += tile.bytes;
    area += tile.width * tile.height;
    for (const TreemapTile& other : leaves) CHECK_FALSE(overlap(tile, other));
    leaves.push_back(tile);
  }
  CHECK(shown == all);
  CHECK(area == Approx(width * height));
  // All that belongs to a module lies in it.
  for (const TreemapTile& module : tiles) {
    if (!module.module) continue;
    int64_t within = 0;
    for (const TreemapTile& leaf : leaves) {
      if (!leaf.path.starts_with(module.path + ".")) continue;
      within += leaf.bytes;
      CHECK(leaf.x >= module.x - 1e-6);
      CHECK(leaf.y >= module.y - 1e-6);
      CHECK(leaf.x + leaf.width <= module.x + module.width + 1e-6);
      CHECK(leaf.y + leaf.height <= module.y + module.height + 1e-6);
    }
    CHECK(within == module.bytes);
  }
}

TEST_CASE("treemap: by module, block and tensor, each as large as its bytes") {
  const std::vector<LiveEntry> entries{{"decoder.up_blocks.3.resnets.1.conv1", MemoryKind::tile, 600},
                                       {"decoder.up_blocks.3.resnets.1.conv2", MemoryKind::tile, 200},
                                       {"decoder.up_blocks.3.resnets.0", MemoryKind::kept, 400},
                                       {"decoder.up_blocks.3.resnets.1.conv1", MemoryKind::workspace, 100},
                                       {"weights", MemoryKind::weights, 300}};
  check_treemap(entries, 320, 200);
  const std::vector<TreemapTile> tiles = treemap(entries, 320, 200);
  std::vector<std::string> modules;
  for (const TreemapTile& tile : tiles) {
    if (tile.module) modules.push_back(tile.path);
  }
  CHECK(modules == std::vector<std::string>{"up3", "up3.res1"});
  const auto conv = std::find_if(tiles.begin(), tiles.end(),
                                 [](const TreemapTile& tile) { return tile.path == "up3.res1.conv1"; });
  REQUIRE(conv != tiles.end());
  CHECK(conv->label == "conv1");
  CHECK(conv->name == "decoder.up_blocks.3.resnets.1.conv1");
  CHECK(conv->depth == 2);
}

TEST_CASE("treemap: of nothing, of one, of many") {
  CHECK(treemap({}, 100, 100).empty());
  CHECK(treemap({{"a", MemoryKind::tile, 5}}, 0, 100).empty());
  check_treemap({{"a", MemoryKind::tile, 5}}, 100, 50);
  std::vector<LiveEntry> many;
  for (int64_t i = 1; i < 200; ++i)
    many.push_back({"up" + std::to_string(i % 7) + ".b" + std::to_string(i % 3) + "." + std::to_string(i),
                    MemoryKind::tile, i * i});
  check_treemap(many, 500, 300);
  check_treemap(many, 10, 1000);
}

TEST_CASE("treemap: at a plan's peak its areas add up to the peak") {
  const Model model = small_decoder();
  const planner::CostModel costs(model.graph);
  const DocumentPtr plan =
      reports::test::document_of(planned(model, {"small", 512, 384, 1, 1, Dtype::fp32}, kAmple, costs), "p");
  const Timeline timeline = predicted_timeline(plan);
  const std::vector<LiveEntry> live = timeline.live_set(timeline.peak());
  check_treemap(live, 400, 300);
  int64_t bytes = 0;
  for (const TreemapTile& tile : treemap(live, 400, 300)) bytes += tile.module ? 0 : tile.bytes;
  CHECK(bytes == timeline.total_bytes(timeline.peak()));
}

}  // namespace
}  // namespace headroom::reports
