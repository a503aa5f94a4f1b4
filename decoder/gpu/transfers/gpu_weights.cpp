#include "decoder/gpu/transfers/gpu_weights.h"

#include <algorithm>
#include <cstring>

#include "decoder/cpu/loops/storage.h"
#include "decoder/schedule/gpu_layout.h"

namespace headroom {
namespace {

/// Rounds values to a dtype and copies them to the GPU, chunk by chunk through pinned memory.
class Sending {
 public:
  explicit Sending(PinnedStaging& staging) : staging_(staging) {}

  void send(const float* values, int64_t count, Dtype dtype, std::byte* to) {
    const int64_t chunk = PinnedStaging::kBytes / bytes_per_element(dtype);
    for (int64_t i = 0; i < count; i += chunk) {
      const int64_t now = std::min(chunk, count - i), bytes = now * bytes_per_element(dtype);
      std::byte* through = staging_.next();
      if (dtype == Dtype::fp32) {
        std::memcpy(through, values + i, static_cast<size_t>(bytes));
      } else {
        kernels::narrow(dtype, values + i, through, now);
      }
      staging_.gpu().copy(gpu::Stream::compute, to + i * bytes_per_element(dtype), through, bytes);
      staging_.used();
    }
  }

 private:
  PinnedStaging& staging_;
};

GpuOpWeights op_weights(const Op& op, const std::byte* first, const std::byte* second) {
  if (op.kind == OpKind::conv) return {.kernel = first, .bias = second};
  return {.scale = reinterpret_cast<const float*>(first),
          .norm_bias = reinterpret_cast<const float*>(second)};
}

}  // namespace

int64_t second_offset(const Graph& graph, const Op& op, Dtype dtype) {
  const int64_t channels = graph.tensor(op.output).channels;
  const int64_t element = op.kind == OpKind::conv ? bytes_per_element(dtype) : int64_t{sizeof(float)};
  return gpu::parameter_bytes(graph, op, dtype) - gpu::on_boundary(channels * element);
}

GpuWeights::GpuWeights(const Graph& graph, const std::vector<OpId>& operations, Dtype dtype,
                       std::shared_ptr<void> memory, const Loading& loading)
    : memory_(std::move(memory)), ops_(graph.ops().size()) {
  Sending sending(loading.staging);
  auto* next = static_cast<std::byte*>(memory_.get());
  for (size_t i = 0; i < operations.size(); ++i) {
    const Op& op = graph.op(operations[i]);
    const std::shared_ptr<const HostOpWeights> own = loading.source(op);
    const std::vector<WeightList> lists = weight_lists(op, *own, dtype);
    if (!lists.empty()) ops_[index(operations[i])] = op_weights(op, next, next + lists[0].bytes());
    for (const WeightList& list : lists) {
      sending.send(list.values->data(), std::ssize(*list.values), list.dtype, next);
      next += list.bytes();
    }
    if (loading.progress) loading.progress(double(i + 1) / double(operations.size()));
  }
}

GpuWeights::GpuWeights(const Graph& graph, const std::vector<OpId>& operations, Dtype dtype,
                       std::shared_ptr<void> memory)
    : memory_(std::move(memory)), ops_(graph.ops().size()) {
  const auto* next = static_cast<const std::byte*>(memory_.get());
  for (const OpId id : operations) {
    const Op& op = graph.op(id);
    const int64_t bytes = gpu::parameter_bytes(graph, op, dtype);
    if (bytes > 0) ops_[index(id)] = op_weights(op, next, next + second_offset(graph, op, dtype));
    next += bytes;
  }
}

}  // namespace headroom
