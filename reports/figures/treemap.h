#pragma once

#include <string>
#include <vector>

#include "reports/figures/timeline.h"

namespace headroom::reports {

/// A rectangle of a treemap, in the coordinates that were asked for.
struct TreemapTile {
  std::string label;  ///< the last part of its short name: "conv1"; of a module "up3"
  std::string path;   ///< the whole short name: "up3.res1.conv1"
  std::string name;   ///< of the tensor, as files have it; empty for modules
  MemoryKind kind{};
  int64_t bytes = 0;
  bool module = false;  ///< stands for all tiles that it contains, which come after it
  size_t depth = 0;     ///< 0 for what lies in no module
  double x = 0, y = 0, width = 0, height = 0;
};

/// What is on the device together as areas, each as large as its bytes: by module (up3), block (up3.res1) and
/// tensor, all as square as can be (squarified treemaps, Bruls, Huizing and van Wijk 2000). Areas of what is
/// no module add up to width * height. A module of one member has no rectangle of its own.
std::vector<TreemapTile> treemap(const std::vector<LiveEntry>& entries, double width, double height);

}  // namespace headroom::reports
