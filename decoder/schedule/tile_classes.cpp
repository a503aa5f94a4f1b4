#include "decoder/schedule/tile_classes.h"

#include <algorithm>
#include <numeric>

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"

namespace headroom {
namespace {

/// The part of an axis in which no step's tile reaches an edge of the picture. Two tiles of equal length in
/// it belong to one class if they begin at the same offset within a position of the coarsest tensor.
struct InnerPart {
  Interval grid;
  int64_t unit = 1;  ///< grid positions in one position of the coarsest tensor
};

InnerPart inner_part(const std::vector<TileAxis>& steps) {
  int64_t reach = 0, unit = 1;
  for (const TileAxis& step : steps) {
    if (step.scale == 0) continue;
    const int64_t halo = std::max(step.before, step.after);
    reach = std::max(reach, ceil_divide(halo * step.grid_scale, step.scale));
    unit = std::lcm(unit, int64_t{step.grid_scale / std::gcd(step.grid_scale, step.scale)});
  }
  reach += unit;  // a tile can contain part of a coarsest position
  return {{reach, (steps.empty() ? 0 : steps.front().grid) - reach}, unit};
}

/// Returns the number of the tile's class. Adds the class if it is new.
size_t class_number(std::vector<TileClass>& classes, const TileClass& tile) {
  // Search from the end, since most tiles are like the previous one.
  for (size_t i = classes.size(); i-- > 0;) {
    if (classes[i].alike(tile)) return i;
  }
  classes.push_back(tile);
  return classes.size() - 1;
}

}  // namespace

TileClasses tile_classes(const Graph& graph, const Pass& pass, Axis axis, std::span<const Interval> tiles,
                         const Extent& latent) {
  std::vector<TileAxis> steps;
  steps.reserve(pass.steps.size());
  for (const Step& step : pass.steps)
    steps.push_back(tile_axis(graph, pass, step, measured_tensor(step), axis, latent));
  const InnerPart inner = inner_part(steps);
  struct Known {  // a tile in the inner part
    int64_t place, length;
    size_t number;
  };
  std::vector<Known> known;
  TileClass tile;
  tile.made.resize(steps.size());
  tile.present.resize(steps.size());
  TileClasses classes;
  classes.class_of.reserve(tiles.size());
  for (const Interval& grid : tiles) {
    const bool is_inner = inner.grid.contains(grid);
    const int64_t place = grid.begin % inner.unit;
    const auto found = std::find_if(known.begin(), known.end(), [&](const Known& other) {
      return is_inner && other.place == place && other.length == grid.length();
    });
    size_t number = 0;
    if (found != known.end()) {
      number = found->number;
    } else {
      for (size_t i = 0; i < steps.size(); ++i) {
        tile.made[i] = steps[i].made(grid).length();
        tile.present[i] = steps[i].present(grid).length();
      }
      tile.has_before = !steps.empty() && steps.front().carries && grid.begin > 0;
      number = class_number(classes.classes, tile);
      if (is_inner) known.push_back({place, grid.length(), number});
    }
    ++classes.classes[number].count;
    classes.class_of.push_back(number);
  }
  return classes;
}

}  // namespace headroom
