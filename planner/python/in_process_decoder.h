#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/gpu/transfers/card_weights.h"
#include "decoder/interpreter/events.h"
#include "decoder/plan/stats.h"
#include "decoder/weights/memory_weights.h"
#include "planner/python/planned_decode.h"

namespace headroom::python {

/// Decodes one model inside a process that also does other work. Concurrent calls run one after another.
class InProcessDecoder {
 public:
  virtual ~InProcessDecoder() = default;

  struct Call {
    const Plan& plan;
    /// Null if the packed weights of the previous decode are still valid, or if `card` has the weights.
    const MemoryWeights* weights = nullptr;
    /// GPU only: the weights in its memory, for every decode.
    const CardParameters* card = nullptr;
    const ArrayView& latent;
    /// Makes the sink. Called once, when the decode's memory is reserved.
    std::function<PictureSink&()> sink;
    int threads = 0;  ///< 0 leaves the default
    EventSink* events = nullptr;
    std::function<void(double)> loading{};  ///< called with the loaded share of the weights
  };
  /// Runs a decode and finishes the sink. Throws InputError, LimitExceeded and DeviceError, and passes on
  /// exceptions of `events` and `loading`. The decoder can be used again after an exception.
  virtual RunStats decode(const Call& call) = 0;

  /// True if the decoder has packed weights that this plan can use. Such a decode needs no other weights.
  virtual bool has_weights(const Plan&) { return false; }
  /// True if weights that the host folded stay between decodes whose weights are on the GPU. They are valid
  /// until drop_weights().
  virtual bool keeps_folded() { return false; }
  virtual void drop_weights() {}
  /// Checksum of each block of memory on the device that decodes run on. Waits for work that the process has
  /// queued there.
  virtual std::vector<uint64_t> checksums(const std::vector<std::span<const std::byte>>& stretches) = 0;
  /// Bytes held between decodes: packed weights.
  virtual int64_t held_bytes() { return 0; }
};

}  // namespace headroom::python
