#include <algorithm>

#include "decoder/graph/graph.h"

namespace headroom {
namespace {

bool clamps_values(const Op& op) {
  return op.activation == Activation::clamp;
}

}  // namespace

bool Graph::clamps() const {
  return std::any_of(ops_.begin(), ops_.end(), clamps_values);
}

Graph Graph::unclamped() const {
  Graph graph = *this;
  for (Op& op : graph.ops_) {
    if (!clamps_values(op)) continue;
    op.activation = Activation::none;
    op.convolution.activation = Activation::none;
  }
  return graph;
}

}  // namespace headroom
