#include "reports/figures/treemap.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "decoder/graph/short_name.h"

namespace headroom::reports {
namespace {

struct TreeNode {
  std::string label, path;
  const LiveEntry* entry = nullptr;  ///< null for modules
  int64_t bytes = 0;
  std::map<std::string, TreeNode> modules{};
  std::vector<TreeNode> leaves{};

  std::vector<const TreeNode*> members() const {
    std::vector<const TreeNode*> all;
    for (const auto& [name, module] : modules) all.push_back(&module);
    for (const TreeNode& leaf : leaves) all.push_back(&leaf);
    std::stable_sort(all.begin(), all.end(),
                     [](const TreeNode* a, const TreeNode* b) { return a->bytes > b->bytes; });
    return all;
  }
};

struct Area {
  double x = 0, y = 0, width = 0, height = 0;
};

void put(TreeNode& tree, const LiveEntry& entry) {
  const std::string path = short_name(entry.name);
  TreeNode* at = &tree;
  at->bytes += entry.bytes;
  size_t begin = 0;
  for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
    TreeNode& module = at->modules[path.substr(begin, dot - begin)];
    module.label = path.substr(begin, dot - begin);
    module.path = path.substr(0, dot);
    module.bytes += entry.bytes;
    at = &module;
    begin = dot + 1;
  }
  TreeNode leaf;
  leaf.label = path.substr(begin);
  leaf.path = path;
  leaf.entry = &entry;
  leaf.bytes = entry.bytes;
  at->leaves.push_back(std::move(leaf));
}

/// How far from a square the worst of a row of areas is, where the row lies along `side`.
double worst_ratio(const std::vector<double>& areas, double side) {
  const double sum = std::accumulate(areas.begin(), areas.end(), 0.0);
  const double thickness = sum / side;
  double worst = 1;
  for (const double area : areas) {
    const double length = area / thickness;
    worst = std::max({worst, length / thickness, thickness / length});
  }
  return worst;
}

/// Cuts a row for these areas off the shorter side of what is free.
std::vector<Area> cut_row(const std::vector<double>& areas, Area& free) {
  const double sum = std::accumulate(areas.begin(), areas.end(), 0.0);
  std::vector<Area> row;
  const bool upright = free.width >= free.height;  // the row is a column at the left
  const double side = upright ? free.height : free.width, thickness = side > 0 ? sum / side : 0;
  double at = 0;
  for (const double area : areas) {
    const double length = thickness > 0 ? area / thickness : 0;
    row.push_back(upright ? Area{free.x, free.y + at, thickness, length}
                          : Area{free.x + at, free.y, length, thickness});
    at += length;
  }
  if (upright) {
    free.x += thickness;
    free.width = std::max(free.width - thickness, 0.0);
  } else {
    free.y += thickness;
    free.height = std::max(free.height - thickness, 0.0);
  }
  return row;
}

/// Areas of these sizes, largest first, that fill `free`.
std::vector<Area> squarified(const std::vector<double>& sizes, Area free) {
  std::vector<Area> areas;
  std::vector<double> row;
  for (size_t i = 0; i < sizes.size();) {
    const double side = std::min(free.width, free.height);
    std::vector<double> longer = row;
    longer.push_back(sizes[i]);
    if (row.empty() || worst_ratio(longer, side) <= worst_ratio(row, side)) {
      row = std::move(longer);
      ++i;
      continue;
    }
    for (const Area& area : cut_row(row, free)) areas.push_back(area);
    row.clear();
  }
  if (!row.empty()) {
    for (const Area& area : cut_row(row, free)) areas.push_back(area);
  }
  return areas;
}

void lay_out(const TreeNode& tree, const Area& area, size_t depth, std::vector<TreemapTile>& tiles) {
  const std::vector<const TreeNode*> members = tree.members();
  std::vector<double> sizes;
  sizes.reserve(members.size());
  for (const TreeNode* member : members)
    sizes.push_back(area.width * area.height * double(member->bytes) / double(tree.bytes));
  const std::vector<Area> areas = squarified(sizes, area);
  for (size_t i = 0; i < members.size(); ++i) {
    const TreeNode& member = *members[i];
    TreemapTile tile;
    tile.label = member.label;
    tile.path = member.path;
    tile.bytes = member.bytes;
    tile.depth = depth;
    tile.x = areas[i].x;
    tile.y = areas[i].y;
    tile.width = areas[i].width;
    tile.height = areas[i].height;
    if (member.entry != nullptr) {
      tile.name = member.entry->name;
      tile.kind = member.entry->kind;
      tiles.push_back(std::move(tile));
      continue;
    }
    tile.module = true;
    const bool several = member.modules.size() + member.leaves.size() > 1;
    if (several) tiles.push_back(std::move(tile));
    lay_out(member, areas[i], depth + (several ? 1 : 0), tiles);
  }
}

}  // namespace

std::vector<TreemapTile> treemap(const std::vector<LiveEntry>& entries, double width, double height) {
  TreeNode tree;
  for (const LiveEntry& entry : entries) {
    if (entry.bytes > 0) put(tree, entry);
  }
  std::vector<TreemapTile> tiles;
  if (tree.bytes > 0 && width > 0 && height > 0) lay_out(tree, {0, 0, width, height}, 0, tiles);
  return tiles;
}

}  // namespace headroom::reports
