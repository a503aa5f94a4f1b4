#include "reports/figures/layer_bytes.h"

#include <algorithm>
#include <set>

#include "decoder/operations/operation.h"

namespace headroom::reports {

std::vector<LayerSize> layer_sizes(const Graph& graph) {
  std::set<LayerSize> sizes;
  for (const Tensor& tensor : graph.tensors()) {
    if (tensor.statistics || tensor.producer == OpId{-1}) continue;  // the latent exists before the decode
    sizes.insert({tensor.channels, tensor.scale.y, tensor.scale.t});
  }
  for (const Op& op : graph.ops()) {
    if (op.kind != OpKind::conv) continue;
    const Tensor& input = graph.tensor(op.inputs.front());
    const Tensor& output = graph.tensor(op.output);
    if (input.producer != OpId{-1}) sizes.insert({input.channels, output.scale.y, output.scale.t});
    if (op.kernel.t == 1) continue;
    for (const int32_t earlier : {op.kernel.t - 2, op.kernel.t - 1}) {
      for (const int32_t border : {0, op.kernel.y / 2})
        sizes.insert({input.channels, output.scale.y, output.scale.t, border, std::max(earlier, 1)});
    }
  }
  return {sizes.begin(), sizes.end()};
}

std::vector<int64_t> bytes_of(const LayerSize& size, const ClipCut& cut, int64_t rows, int64_t columns,
                              int64_t element_bytes) {
  const int64_t most_frames = int64_t{size.frame_scale} * (cut.latent_frames - 1) + 1;
  std::vector<int64_t> frames{cut.frame_by_frame ? 1 : most_frames};
  if (cut.frame_by_frame && cut.latent_frames > 1 && size.frame_scale > 1) frames.push_back(size.frame_scale);
  std::vector<int64_t> bytes;
  for (const int64_t count : frames) {
    const int64_t around = 2 * int64_t{size.border};
    bytes.push_back(size.channels * (rows * size.side + around) * (columns * size.side + around) *
                    (count + size.earlier_frames) * element_bytes);
  }
  return bytes;
}

std::vector<int64_t> parameter_sizes(const Graph& graph) {
  std::set<int64_t> sizes;
  for (const Op& op : graph.ops()) {
    for (const Parameter& parameter : parameters_of(graph, op)) sizes.insert(elements_of(parameter));
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace headroom::reports
