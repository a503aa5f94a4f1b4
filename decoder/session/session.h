#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/pinned_weights.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/block_transfers.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/events.h"
#include "decoder/interpreter/rank_exchange.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/stats.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// Decodes of one model by any of some plans, one after another, in memory that is reserved once: weights
/// that stay are loaded once, and what one decode frees serves the next. Results do not depend on what ran
/// before. start_libraries() first.
class Session {
 public:
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs the whole plan of this number: every micro-batch of the batch; weights before it where they are not
  /// there yet. `latent` is N×C×T×H×W or N×C×H×W. Throws InputError where it does not have the plan's shape
  /// or the device cannot run the plan; LimitExceeded, DeviceError. The sink is not finished: that is the
  /// caller's, once all is well.
  /// `link` is given where the plan is one of several ranks'; all of them decode at the same time, and each
  /// hands its sink the rows of the output that it owns.
  RunStats decode(size_t plan, const Array& latent, PictureSink& sink, EventSink* events,
                  const RankLink* link = nullptr);

  /// Most bytes of its own memory that the session has held; on a GPU, the bytes that it reserved.
  virtual int64_t held_bytes() const = 0;
  /// Growth outside the session's own memory since it began, in bytes. Libraries allocate there.
  virtual int64_t outside_growth_bytes() const = 0;
  /// Peak of that growth, at least 0, given the peak growth of the process. On a GPU: the growth so far.
  virtual int64_t most_outside_bytes(int64_t rss_growth_bytes) const = 0;
  /// Resident bytes of this process when the session began.
  virtual int64_t resident_before_bytes() const = 0;
  /// Times that memory was reserved for decodes.
  virtual int64_t reservations() const = 0;

 protected:
  /// `plans` must outlive the session.
  Session(const Model& model, const std::vector<Plan>& plans) : model_(model), plans_(plans) {}

  /// One plan on the device, from its weights to its last pixel.
  class Run {
   public:
    virtual ~Run() = default;
    /// Makes the device for a micro-batch, whose plan is given. The previous micro-batch must be over.
    virtual std::unique_ptr<Device> device(const Plan& micro_batch) = 0;
    /// Null where the plan keeps everything on the device.
    virtual BlockTransfers* transfers() = 0;
    /// Receives the interpreter's events of the run. May be null.
    virtual EventSink* events() = 0;
    /// When the time that is counted began.
    virtual std::chrono::steady_clock::time_point start() const = 0;
    /// Returns once all work is done.
    virtual void wait() {}
    /// Adds what the device measured.
    virtual void finish(RunStats& stats) = 0;
  };
  /// Checks the plan and loads its weights.
  virtual std::unique_ptr<Run> begin(size_t plan, EventSink* events) = 0;

  const Model& model_;
  const std::vector<Plan>& plans_;
};

/// Throws InputError where the latent does not have the plan's shape.
void check_latent(const Model& model, const Plan& plan, const Array& latent);

/// Model, plans and memory limits of a session.
struct SessionRequest {
  const Model& model;
  const ParameterSource& weights;
  const std::vector<Plan>& plans;
  /// Hard, of all that is taken; each plan keeps its own limit besides.
  int64_t limit_bytes = 0;
  /// For live and warm pages together: the largest predicted peak of live bytes.
  int64_t resident_goal_bytes = 0;
  /// Receives the share of the weights that is there.
  std::function<void(double)> loading{};
  /// On a GPU: where packed weights stay when the session ends, for the next one. Null: they end with it.
  PinnedByDtype* packed = nullptr;
};

/// On the device that the plans are for: `gpu`, which must outlive the session, or the CPU where it is null.
/// Throws InputError where a plan is for another device, LimitExceeded, DeviceError. All references of the
/// request must outlive the session.
std::unique_ptr<Session> open_session(const SessionRequest& request, gpu::Gpu* gpu);

/// Callbacks and resources of a single decode, all optional.
struct DecodeHooks {
  DecodeHooks(EventSink* sink = nullptr, std::function<void(double)> loaded = {}, gpu::Gpu* on = nullptr)
      : events(sink), loading(std::move(loaded)), gpu(on) {}

  EventSink* events;                    ///< null for nobody
  std::function<void(double)> loading;  ///< receives the share of the weights that is there
  gpu::Gpu* gpu;                        ///< opened where the plan is for one and this is null
  const RankLink* link = nullptr;       ///< where the plan is one of several ranks'
};

/// A session of one decode, within the plan's limit, on the device that the plan is for.
RunStats decode(const Model& model, const Plan& plan, const ParameterSource& weights, const Array& latent,
                PictureSink& sink, const DecodeHooks& options = {});

}  // namespace headroom
