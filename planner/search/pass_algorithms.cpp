#include "planner/search/pass_algorithms.h"

#include <algorithm>
#include <tuple>

#include "decoder/operations/convolution.h"
#include "decoder/schedule/weights_bytes.h"

namespace headroom::planner {

std::vector<ConvolutionAlgorithms> pass_algorithms(const Graph& graph, const Pass& pass,
                                                   const std::vector<ConvolutionAlgorithm>& of_device) {
  std::vector<ConvolutionAlgorithms> list{ConvolutionAlgorithm::direct};
  if (!contains(of_device, ConvolutionAlgorithm::winograd)) return list;
  std::vector<OpId> changing = operations_of(pass);
  std::erase_if(changing, [&](OpId op) { return !has_winograd(graph, op); });
  const auto coarseness = [&](OpId id) {
    const Op& op = graph.op(id);
    const Axes<int32_t>& scale = graph.tensor(op.inputs[0]).scale;
    return std::tuple(scale.t * scale.y * scale.x, op.factor.y > 1 ? 0 : 1);
  };
  std::stable_sort(changing.begin(), changing.end(),
                   [&](OpId a, OpId b) { return coarseness(a) < coarseness(b); });
  for (size_t direct = 0; direct < changing.size(); ++direct) {
    const auto end = changing.begin() + static_cast<std::ptrdiff_t>(direct);
    list.push_back({ConvolutionAlgorithm::winograd, std::vector<OpId>(changing.begin(), end)});
  }
  return list;
}

}  // namespace headroom::planner
