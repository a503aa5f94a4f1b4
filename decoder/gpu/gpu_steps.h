#pragma once

#include <map>
#include <memory>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/memory/gpu_memory.h"
#include "decoder/gpu/transfers/gpu_weights.h"
#include "decoder/interpreter/device.h"
#include "decoder/schedule/gpu_layout.h"

namespace headroom {

/// Everything that the steps of a decode share on a GPU. Steps queue calls on the compute stream, item by
/// item.
struct GpuSteps {
  const Graph& graph;
  const Sizes sizes;
  GpuMemory& memory;
  gpu::Gpu& gpu;
  const gpu::StateLayout layout;  ///< layout of `state`
  std::shared_ptr<void> state{};
  const GpuWeights* weights = nullptr;  ///< of the running pass
  /// Frame of the first set of statistics by frame. Not 0 in later blocks of a stream.
  std::map<TensorId, int64_t> first_frames{};
  /// Kept between the blocks of keys of one attention.
  struct Attending {
    std::shared_ptr<void> state, workspace;
  };
  Attending attending{};

  const GpuOpWeights& weights_of(const Op& op) const { return weights->of(graph.tensor(op.output).producer); }
  gpu::View view_of(const MapView& map, int64_t item) const;
  std::byte* state_at(const gpu::StateLayout::Buffer& buffer, int64_t item) const {
    return static_cast<std::byte*>(state.get()) + buffer.offset + item * buffer.item_bytes;
  }
  /// Place of the statistics that a tensor represents.
  std::byte* statistics_of(TensorId id, int64_t item) const {
    return state_at(layout.statistics.at(id), item);
  }
  /// 0 for other statistics.
  int32_t first_frame(TensorId statistics) const {
    const auto found = first_frames.find(statistics);
    return found == first_frames.end() ? 0 : static_cast<int32_t>(found->second);
  }
  /// Partial sums of a call, as `Value`.
  template <typename Value>
  Value* partial() const {
    return reinterpret_cast<Value*>(static_cast<std::byte*>(state.get()) + layout.partial_offset);
  }
  /// Counters of AddMoments, zero between calls.
  uint32_t* counters() const {
    return reinterpret_cast<uint32_t*>(static_cast<std::byte*>(state.get()) + layout.counters_offset);
  }
  /// The workspace that a call of these needs gets: none if the device's operations allocate their own.
  int64_t granted_bytes(int64_t bytes) const {
    return device_record(sizes.device).temporary_bytes > 0 ? 0 : bytes;
  }
  /// Workspace of one call. The caller frees it as soon as the call is queued.
  std::shared_ptr<void> workspace(int64_t bytes) const {
    return bytes > 0 ? memory.allocate(bytes) : nullptr;
  }
};

// One function for each kind of step.
namespace gpu_steps {
#define X(kind) void kind(GpuSteps& steps, const StepCall& call);
HEADROOM_DEVICE_STEPS(X)
#undef X
}  // namespace gpu_steps

}  // namespace headroom
