#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/interpreter/events.h"
#include "decoder/plan/stats.h"
#include "decoder/weights/memory_weights.h"
#include "planner/python/planned_decode.h"

namespace headroom::python {

/// Decodes of one model in a process that has other things to do. They wait for one another.
class InProcessDecoder {
 public:
  virtual ~InProcessDecoder() = default;

  struct Call {
    const Plan& plan;
    /// Null where the weights of the decode before still hold.
    const MemoryWeights* weights = nullptr;
    const Array& latent;
    PictureSink& sink;
    int threads = 0;  ///< 0 leaves the default
    EventSink* events = nullptr;
    std::function<void(double)> loading{};  ///< told the share of the weights that is there
  };
  /// Throws InputError, LimitExceeded, DeviceError, and what events and loading throw; another decode may
  /// follow. The sink is finished.
  virtual RunStats decode(const Call& call) = 0;

  /// True if the decoder has packed weights that this plan can use. Such a decode needs no other weights.
  virtual bool has_weights(const Plan&) { return false; }
  virtual void drop_weights() {}
  /// The checksum of each stretch of memory of the device that decodes run on, after what the process has
  /// queued there.
  virtual std::vector<uint64_t> checksums(const std::vector<std::span<const std::byte>>& stretches) = 0;
  /// Bytes held between decodes: packed weights.
  virtual int64_t held_bytes() { return 0; }
};

}  // namespace headroom::python
