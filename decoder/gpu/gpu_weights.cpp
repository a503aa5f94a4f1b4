#include "decoder/gpu/gpu_weights.h"

#include <algorithm>
#include <cstring>

#include "decoder/cpu/loops/storage.h"
#include "decoder/lowering/gpu_layout.h"

namespace headroom {
namespace {

/// Values on their way to the GPU, rounded to a dtype, chunk by chunk through pinned memory.
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

}  // namespace

GpuWeights::GpuWeights(const Graph& graph, const std::vector<OpId>& operations, Dtype dtype,
                       std::shared_ptr<void> memory, const Loading& loading)
    : memory_(std::move(memory)), ops_(graph.ops().size()) {
  Sending sending(loading.staging);
  auto* next = static_cast<std::byte*>(memory_.get());
  for (size_t i = 0; i < operations.size(); ++i) {
    const Op& op = graph.op(operations[i]);
    GpuOpWeights& weights = ops_[index(operations[i])];
    const std::shared_ptr<const HostOpWeights> own = loading.source(op);
    const auto put = [&](const std::vector<float>& values, Dtype as) {
      std::byte* address = next;
      const auto count = static_cast<int64_t>(values.size());
      sending.send(values.data(), count, as, address);
      next += gpu::on_boundary(count * bytes_per_element(as));
      return address;
    };
    if (op.kind == OpKind::conv) {
      weights.kernel = put(own->kernel, dtype);
      weights.bias = put(own->bias, dtype);
    } else if (!own->scale.empty()) {
      weights.scale = reinterpret_cast<const float*>(put(own->scale, Dtype::fp32));
      weights.norm_bias = reinterpret_cast<const float*>(put(own->bias, Dtype::fp32));
    }
    if (loading.progress) loading.progress(double(i + 1) / double(operations.size()));
  }
}

}  // namespace headroom
