#pragma once

#include <functional>
#include <memory>

#include "decoder/cpu/packed_weights.h"
#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/events.h"
#include "decoder/plan/requests.h"
#include "decoder/plan/stats.h"

namespace headroom {

/// Decodes of a queue in memory that is reserved once, on whatever device its plans are for.
class QueueSession {
 public:
  virtual ~QueueSession() = default;

  /// By the queue's plan of this number.
  virtual RunStats decode(size_t plan, const Array& latent, PictureSink& sink, EventSink* events) = 0;
  /// Most of its memory that the pool has held so far; of a GPU what is reserved.
  virtual int64_t held_bytes() const = 0;
  /// What libraries took beside it since the session began.
  virtual int64_t outside_growth_bytes() const = 0;
  /// The same at its most, where the process grew by this much.
  virtual int64_t most_outside_bytes(int64_t rss_growth_bytes) const = 0;
  virtual int64_t resident_before_bytes() const = 0;
  /// Times that memory was reserved for decodes.
  virtual int64_t reservations() const = 0;
};

/// A GPU is opened where the plans are for one. Throws InputError where they are for several devices, or
/// their costs were measured elsewhere without `other_environment`, and LimitExceeded, DeviceError. All
/// references must outlive the session.
std::unique_ptr<QueueSession> open_session(const Model& model, const ParameterSource& weights,
                                           const RequestQueue& queue, bool other_environment,
                                           const std::function<void(double)>& loading);

}  // namespace headroom
