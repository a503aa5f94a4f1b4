#include "decoder/session/streams.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/session/picture_shape.h"

namespace headroom {

int64_t Streams::open_streams() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(open_.size());
}

int64_t Streams::most_bytes(const std::vector<const StreamPlan*>& streams) {
  int64_t states = 0, most = 0;
  for (const StreamPlan* stream : streams) {
    const StreamMemory& memory = stream->memory;
    states += memory.state_bytes;
    most = std::max(most, memory.weights_bytes + memory.work_bytes() + memory.reserve_bytes);
  }
  return states + most;
}

int64_t Streams::limit_bytes(const StreamPlan* more) const {
  int64_t limit = more != nullptr ? more->plan.limit_bytes : std::numeric_limits<int64_t>::max();
  for (const StreamPlan* stream : open_) limit = std::min(limit, stream->plan.limit_bytes);
  return limit;
}

void Streams::add(const StreamPlan& plan) {
  if (plan.plan.weights != WeightResidency::resident)
    throw InputError("a stream needs a plan with resident weights");
  std::vector<const StreamPlan*> all = open_;
  all.push_back(&plan);
  const int64_t bytes = most_bytes(all), limit = limit_bytes(&plan);
  if (bytes > limit) {
    const std::string open = std::to_string(open_.size());
    throw LimitExceeded("one more stream would take " + format_bytes(bytes) + " with the " + open +
                        " that are open, limit " + format_bytes(limit) + "; expected at most " + open +
                        " streams. Close one, or give a larger limit for all of them");
  }
  open_ = std::move(all);
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

std::vector<std::byte> OpenStream::state() {
  const InUse in_use(busy_);
  const std::lock_guard lock(streams_->mutex_);
  return stream_->state();
}

bool OpenStream::ended() const {
  const std::lock_guard lock(streams_->mutex_);
  return stream_->ended();
}

int64_t OpenStream::state_bytes() const {
  const std::lock_guard lock(streams_->mutex_);
  return state_bytes_;
}

int64_t OpenStream::measured_peak_bytes() const {
  const std::lock_guard lock(streams_->mutex_);
  return measured_peak_bytes_;
}

int64_t OpenStream::push(const ArrayView& input, bool ends, const MakeSink& make_sink) {
  const InUse in_use(busy_);
  const std::lock_guard lock(streams_->mutex_);
  stream_->require(input, ends);
  PictureShape shape = picture_shape(streams_->model_->graph, plan_.plan.request);
  const int64_t frames = stream_->frames_ready(input.shape[2], ends);
  shape.frames = std::max<int64_t>(1, frames);
  DiscardingSink nowhere(shape);
  PictureSink& sink = frames > 0 ? make_sink(shape) : nowhere;
  run(input, ends, sink);
  return frames;
}

}  // namespace headroom
