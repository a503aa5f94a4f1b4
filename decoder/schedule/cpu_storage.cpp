#include <limits>

#include "decoder/operations/convolution.h"
#include "decoder/schedule/allocation.h"
#include "decoder/schedule/storage.h"

namespace headroom {
namespace {

/// Each parameter begins on the pool's alignment.
int64_t aligned(int64_t floats) {
  return cpu::round_up(floats * int64_t{sizeof(float)}, cpu::kAlignmentBytes);
}

class CpuStorage : public StorageRules {
 public:
  int64_t allocated_bytes(int64_t bytes) const override { return cpu::allocated_bytes(bytes); }
  int64_t tile_element_bytes(Dtype) const override { return sizeof(float); }
  int64_t tile_bytes(int64_t item_bytes, int64_t items) const override {
    return cpu::allocated_bytes(items * item_bytes);
  }
  int64_t most_tile_values() const override { return std::numeric_limits<int64_t>::max(); }
  int64_t weights_bytes(const Graph& graph, const Op& op, ConvolutionAlgorithm algorithm,
                        Dtype) const override {
    const int64_t channels = graph.tensor(op.output).channels;
    if (operation(op.kind).has_scale_and_bias) return 2 * aligned(channels);
    if (op.kind != OpKind::conv) return 0;
    // A convolution without a bias stores zeros as its bias.
    const KernelShape kernel = kernel_shape(graph, op);
    return aligned(kernel.floats(algorithm_of(kernel, algorithm))) + aligned(channels);
  }
  int64_t state_bytes(const Graph&, const Sizes&) const override { return 0; }
};

}  // namespace

const StorageRules& cpu_storage() {
  static const CpuStorage rules;
  return rules;
}

}  // namespace headroom
