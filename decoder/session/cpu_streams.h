#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "decoder/cpu/limited_pool.h"
#include "decoder/cpu/packed_weights.h"
#include "decoder/session/streams.h"

namespace headroom {

/// Streams on the CPU, with memory of one pool.
class CpuStreams final : public Streams {
 public:
  /// Reads and packs the weights. Throws what `source` throws.
  CpuStreams(std::shared_ptr<const Model> model, const ParameterSource& source);

  std::unique_ptr<OpenStream> open(const StreamPlan& plan, std::span<const std::byte> state = {}) override;
  int64_t live_bytes() const override { return pool_.live_bytes(); }

 private:
  class CpuStream;
  /// Limit on the pool with the streams that are open. Call with the mutex held.
  int64_t pool_limit_bytes() const;

  LimitedPool pool_;
  std::optional<Weights> weights_;
};

}  // namespace headroom
