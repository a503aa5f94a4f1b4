#include "decoder/session/cpu_streams.h"

#include <algorithm>
#include <string>
#include <utility>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/os/process_memory.h"
#include "decoder/cpu/cpu_device.h"
#include "decoder/schedule/storage.h"
#include "decoder/session/picture_shape.h"

namespace headroom {
namespace {

/// Resident weights are read when they are packed.
const ParameterSource& no_source() {
  static const ParameterSource kNone;
  return kNone;
}

}  // namespace

CpuStreams::CpuStreams(std::shared_ptr<const Model> model, const ParameterSource& source)
    : model_(std::move(model)), pool_(physical_bytes()) {
  const Graph& graph = model_->graph;
  weights_.emplace(pool_, graph, all_operations(graph), ConvolutionAlgorithm::direct, source);
}

int64_t CpuStreams::open_streams() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(open_.size());
}

int64_t CpuStreams::most_bytes(const std::vector<const StreamPlan*>& streams) {
  int64_t states = 0, most = 0;
  for (const StreamPlan* stream : streams) {
    const StreamMemory& memory = stream->memory;
    states += memory.state_bytes;
    most = std::max(most, memory.weights_bytes + memory.work_bytes() + stream->plan.reserve_bytes);
  }
  return states + most;
}

int64_t CpuStreams::pool_limit_bytes() const {
  int64_t limit = physical_bytes(), reserve = 0;
  for (const StreamPlan* stream : open_) {
    limit = std::min(limit, stream->plan.limit_bytes);
    reserve = std::max(reserve, stream->plan.reserve_bytes);
  }
  return limit - reserve;
}

std::unique_ptr<CpuStream> CpuStreams::open(const StreamPlan& plan, std::span<const std::byte> state) {
  if (plan.plan.weights != WeightResidency::resident)
    throw InputError("a stream needs a plan with resident weights");
  auto stream = std::make_unique<CpuStream>(shared_from_this(), plan);
  const std::lock_guard lock(mutex_);
  std::vector<const StreamPlan*> all = open_;
  all.push_back(&stream->plan());
  int64_t limit = plan.plan.limit_bytes;
  for (const StreamPlan* other : open_) limit = std::min(limit, other->plan.limit_bytes);
  const int64_t bytes = most_bytes(all);
  if (bytes > limit) {
    throw LimitExceeded("one more stream would take " + format_bytes(bytes) + " with the " +
                        std::to_string(open_.size()) + " that are open, limit " + format_bytes(limit) +
                        "; expected at most " + std::to_string(open_.size()) +
                        " streams. End one, or give a larger limit for all of them");
  }
  open_ = std::move(all);
  if (state.empty()) return stream;
  const int64_t before = pool_.live_bytes();
  pool_.limit_to(pool_limit_bytes());
  stream->stream_->restore(state);
  stream->state_bytes_ = pool_.live_bytes() - before;
  return stream;
}

CpuStream::CpuStream(std::shared_ptr<CpuStreams> streams, const StreamPlan& plan)
    : streams_(std::move(streams)),
      plan_(plan),
      weights_(streams_->pool_, streams_->model_->graph, plan_.plan, no_source(), &*streams_->weights_) {
  stream_.emplace(*streams_->model_, plan_.plan, plan_.block, [this](const Plan& micro_batch) {
    const Graph& graph = streams_->model_->graph;
    return std::make_unique<CpuDevice>(graph, sizes_of(graph, micro_batch), weights_, streams_->pool_);
  });
}

CpuStream::~CpuStream() {
  const std::lock_guard lock(streams_->mutex_);
  stream_.reset();
  std::erase(streams_->open_, &plan_);
  if (streams_->open_.empty()) streams_->pool_.trim();
}

namespace {

/// Marks a stream as in use. Throws InputError if it is.
class InUse {
 public:
  explicit InUse(std::atomic<bool>& busy) : busy_(busy) {
    if (busy_.exchange(true))
      throw InputError(
          "this stream runs a block in another thread; expected one thread at a time for a stream");
  }
  ~InUse() { busy_ = false; }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  std::atomic<bool>& busy_;
};

}  // namespace

std::vector<std::byte> CpuStream::state() {
  const InUse in_use(busy_);
  return stream_->state();
}

int64_t CpuStream::push(const ArrayView& input, bool ends, const MakeSink& make_sink) {
  const InUse in_use(busy_);
  stream_->require(input, ends);
  PictureShape shape = picture_shape(streams_->model_->graph, plan_.plan.request);
  const int64_t frames = stream_->frames_ready(input.shape[2], ends);
  shape.frames = std::max<int64_t>(1, frames);
  DiscardingSink nowhere(shape);
  PictureSink& sink = frames > 0 ? make_sink(shape) : nowhere;
  const std::lock_guard lock(streams_->mutex_);
  LimitedPool& pool = streams_->pool_;
  const int64_t others = pool.live_bytes() - plan_.memory.weights_bytes - state_bytes_;
  pool.limit_to(streams_->pool_limit_bytes());
  pool.hold_resident(others + plan_.memory.peak_bytes);
  pool.restart_peak();
  stream_->push(input, ends, sink);
  measured_peak_bytes_ = std::max(measured_peak_bytes_, pool.peak_bytes() - others);
  state_bytes_ = pool.live_bytes() - others - plan_.memory.weights_bytes;
  return frames;
}

}  // namespace headroom
