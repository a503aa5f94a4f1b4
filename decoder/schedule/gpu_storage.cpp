#include "decoder/schedule/gpu_layout.h"
#include "decoder/schedule/storage.h"

namespace headroom {
namespace {

class GpuStorage : public StorageRules {
 public:
  int64_t allocated_bytes(int64_t bytes) const override {
    return (bytes + gpu::kOffsetUnit - 1) / gpu::kOffsetUnit * gpu::kOffsetUnit;
  }
  int64_t tile_element_bytes(Dtype dtype) const override { return bytes_per_element(dtype); }
  int64_t tile_bytes(int64_t item_bytes, int64_t items) const override {
    return items * allocated_bytes(item_bytes);
  }
  int64_t most_tile_values() const override { return gpu::kMostTileValues; }
  int64_t weights_bytes(const Graph& graph, const Op& op, ConvolutionAlgorithm, Dtype dtype) const override {
    return gpu::parameter_bytes(graph, op, dtype);
  }
  int64_t state_bytes(const Graph& graph, const Sizes& sizes) const override {
    return allocated_bytes(gpu::state_layout(graph, sizes).bytes);
  }
};

}  // namespace

const StorageRules& gpu_storage() {
  static const GpuStorage rules;
  return rules;
}

}  // namespace headroom
