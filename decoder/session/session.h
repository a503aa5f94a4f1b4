#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/transfers/card_weights.h"
#include "decoder/gpu/transfers/host_weights.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/block_transfers.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/events.h"
#include "decoder/interpreter/rank_exchange.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/stats.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// Runs decodes of one model one after another, each by any of several plans. Memory is reserved once, and
/// decodes reuse it. Resident weights are loaded once. Results do not depend on earlier decodes. Call
/// start_libraries() first.
class Session {
 public:
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs the plan with this index for every micro-batch of the batch. Loads missing weights first. `latent`
  /// is N×C×T×H×W or N×C×H×W. Throws InputError if the latent does not have the plan's shape or the device
  /// cannot run the plan; LimitExceeded, DeviceError. The caller finishes the sink after success. Pass `link`
  /// if the plan is for one of several ranks. All ranks decode at the same time, and each writes its own
  /// output rows to its sink.
  RunStats decode(size_t plan, const ArrayView& latent, PictureSink& sink, EventSink* events,
                  const RankLink* link = nullptr);

  /// Most bytes of its own memory that the session has held; on a GPU, the bytes that it reserved.
  virtual int64_t held_bytes() const = 0;
  /// Growth outside the session's own memory since it began, in bytes. Libraries allocate there.
  virtual int64_t outside_growth_bytes() const = 0;
  /// Peak of that growth, at least 0, given the peak growth of the process. On a GPU: the growth so far.
  virtual int64_t most_outside_bytes(int64_t rss_growth_bytes) const = 0;
  /// Resident bytes of this process when the session began.
  virtual int64_t resident_before_bytes() const = 0;
  /// Number of memory reservations made for decodes.
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
    /// Null if the plan keeps everything on the device.
    virtual BlockTransfers* transfers() = 0;
    /// Receives the interpreter's events of the run. May be null.
    virtual EventSink* events() = 0;
    /// Start of the measured time.
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

/// Throws InputError if the latent, or the picture of an encode, does not have the plan's shape.
void check_latent(const Model& model, const Plan& plan, const ArrayView& latent);

/// Results that a GPU's session computes before it takes memory (decoder/session/gpu_session.h).
struct PreparedPlans;

/// Model, plans and memory limits of a session.
struct SessionRequest {
  const Model& model;
  const ParameterSource& weights;
  const std::vector<Plan>& plans;
  /// Hard limit on all memory of the session. Each plan's own limit applies too.
  int64_t limit_bytes = 0;
  /// Goal for live and warm pages together: the largest predicted peak of live bytes.
  int64_t resident_goal_bytes = 0;
  /// Receives the loaded share of the weights, 0 to 1.
  std::function<void(double)> loading{};
  /// GPU only: keeps packed weights for later sessions. Null: packed weights end with the session.
  PinnedByDtype* packed = nullptr;
  /// GPU only: the parameters in its memory, used in place of `weights`. `packed` then keeps only what the
  /// host folds.
  const CardParameters* card = nullptr;
  /// GPU only: the plans' dry runs, from prepare(). Null: the session makes them.
  std::shared_ptr<const PreparedPlans> prepared{};
  /// GPU only: measures memory that grows outside the reservation. Other work of the same process makes that
  /// meaningless, and it asks the driver twice.
  bool measures_outside = true;
};

/// Opens a session on `gpu`, or on the CPU if `gpu` is null. Throws InputError if a plan is for another
/// device, LimitExceeded, DeviceError. `gpu` and all references of the request must outlive the session.
std::unique_ptr<Session> open_session(const SessionRequest& request, gpu::Gpu* gpu);

/// Callbacks and resources of a single decode, all optional.
struct DecodeHooks {
  DecodeHooks(EventSink* sink = nullptr, std::function<void(double)> loaded = {}, gpu::Gpu* on = nullptr)
      : events(sink), loading(std::move(loaded)), gpu(on) {}

  EventSink* events;                    ///< may be null
  std::function<void(double)> loading;  ///< receives the loaded share of the weights
  gpu::Gpu* gpu;                        ///< null: opened if the plan needs one
  const RankLink* link = nullptr;       ///< set if the plan is for one of several ranks
};

/// Runs one decode in a session of its own, within the plan's limit and on the plan's device.
RunStats decode(const Model& model, const Plan& plan, const ParameterSource& weights, const ArrayView& latent,
                PictureSink& sink, const DecodeHooks& options = {});

}  // namespace headroom
