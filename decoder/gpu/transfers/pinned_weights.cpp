#include "decoder/gpu/transfers/pinned_weights.h"

#include <cstring>

#include "decoder/cpu/loops/storage.h"
#include "decoder/schedule/gpu_layout.h"
#include "decoder/schedule/weights_bytes.h"

namespace headroom {
namespace {

void pack(const WeightList& list, std::byte* to) {
  const std::vector<float>& values = *list.values;
  if (list.dtype == Dtype::fp32) {
    std::memcpy(to, values.data(), values.size() * sizeof(float));
  } else {
    kernels::narrow(list.dtype, values.data(), to, std::ssize(values));
  }
}

int64_t bytes_of(const Graph& graph, const std::vector<OpId>& operations, Dtype dtype) {
  int64_t bytes = 0;
  for (const OpId id : operations) bytes += gpu::parameter_bytes(graph, graph.op(id), dtype);
  return bytes;
}

}  // namespace

PinnedWeights::PinnedWeights(gpu::Gpu& gpu, const Graph& graph, const std::vector<OpId>& operations,
                             Dtype dtype, const HostWeights& source,
                             const std::function<void(double)>& progress)
    : bytes_(bytes_of(graph, operations, dtype)), memory_(gpu.pin(bytes_)), ops_(graph.ops().size()) {
  std::byte* next = memory_.get();
  for (size_t i = 0; i < operations.size(); ++i) {
    const Op& op = graph.op(operations[i]);
    const std::shared_ptr<const HostOpWeights> own = source(op);
    Packed& packed = ops_[index(operations[i])];
    packed.values = next;
    for (const WeightList& list : weight_lists(op, *own, dtype)) {
      packed.second = packed.bytes == 0 ? list.bytes() : packed.second;
      pack(list, next);
      next += list.bytes();
      packed.bytes += list.bytes();
    }
    if (progress) progress(double(i + 1) / double(operations.size()));
  }
}

std::vector<PinnedWeights::Copy> PinnedWeights::copies(const std::vector<OpId>& operations,
                                                       std::byte* to) const {
  std::vector<Copy> copies;
  for (const OpId op : operations) {
    const Packed& packed = of(op);
    if (packed.bytes == 0) continue;
    if (!copies.empty() && copies.back().from + copies.back().bytes == packed.values) {
      copies.back().bytes += packed.bytes;
    } else {
      copies.push_back({packed.values, to, packed.bytes});
    }
    to += packed.bytes;
  }
  return copies;
}

}  // namespace headroom
