#include "decoder/schedule/storage.h"

#include <limits>

#include "decoder/graph/geometry.h"
#include "decoder/operations/convolution.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/gpu_layout.h"

namespace headroom {

const StorageRules& storage_rules(const Storage& storage) {
  return device_record(storage.device).is_host ? cpu_storage() : gpu_storage();
}

int64_t allocated_bytes(int64_t bytes, const Sizes& sizes) {
  return storage_rules(sizes).allocated_bytes(bytes);
}

int64_t tile_element_bytes(const Sizes& sizes) {
  return storage_rules(sizes).tile_element_bytes(sizes.dtype);
}

int64_t tile_bytes(const Graph& graph, TensorId tensor, const Extent& extent, const Sizes& sizes) {
  const StorageRules& rules = storage_rules(sizes);
  const int64_t values = positions(extent) * graph.tensor(tensor).channels;
  return rules.tile_bytes(values * rules.tile_element_bytes(sizes.dtype), sizes.items);
}

int64_t latent_bytes(const Graph& graph, const Sizes& sizes) {
  return sizes.items *
         allocated_bytes(bytes_of(graph.tensor(graph.input()), sizes.latent, 1, Dtype::fp32), sizes);
}

int64_t device_state_bytes(const Graph& graph, const Sizes& sizes) {
  return storage_rules(sizes).state_bytes(graph, sizes);
}

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

std::vector<OpId> all_operations(const Graph& graph) {
  std::vector<OpId> operations;
  for (size_t i = 0; i < graph.ops().size(); ++i) operations.push_back(OpId{static_cast<int32_t>(i)});
  return operations;
}

std::vector<OpId> operations_of(const Pass& pass) {
  std::vector<OpId> operations;
  for (const Step& step : pass.steps) {
    if (step.op != OpId{-1} && !contains(operations, step.op)) operations.push_back(step.op);
  }
  return operations;
}

int64_t weights_bytes(const Graph& graph, const Op& op, ConvolutionAlgorithm algorithm,
                      const Storage& storage) {
  return storage_rules(storage).weights_bytes(graph, op, algorithm, storage.dtype);
}

int64_t resident_weights_bytes(const Graph& graph, const Storage& storage) {
  int64_t sum = 0;
  for (const Op& op : graph.ops()) sum += weights_bytes(graph, op, ConvolutionAlgorithm::direct, storage);
  return sum;
}

int64_t pass_weights_bytes(const Graph& graph, const Pass& pass, const ConvolutionAlgorithms& algorithms,
                           WeightResidency residency, const Storage& storage) {
  int64_t sum = 0;
  for (OpId id : operations_of(pass)) {
    const Op& op = graph.op(id);
    if (residency == WeightResidency::per_pass) {
      sum += weights_bytes(graph, op, algorithms.of(id), storage);
    } else if (runs_winograd(graph, algorithms, id)) {
      sum += kernel_shape(graph, op).floats(ConvolutionAlgorithm::winograd) * int64_t{sizeof(float)};
    }
  }
  return sum;
}

int64_t device_weights_bytes(const Graph& graph, const Plan& plan, const Pass& pass) {
  const Storage storage = storage_of(plan.request);
  const bool resident = plan.weights == WeightResidency::resident;
  return (resident ? resident_weights_bytes(graph, storage) : 0) +
         pass_weights_bytes(graph, pass, pass.convolutions, plan.weights, storage);
}

}  // namespace headroom
