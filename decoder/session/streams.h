#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/interpreter/stream.h"
#include "decoder/interpreter/stream_memory.h"

namespace headroom {

class OpenStream;

/// Streams of one model on one device. They share packed weights and memory for work, and their blocks run
/// one after another. A limit covers all of them: the weights once, the state of each, and the work of one.
class Streams : public std::enable_shared_from_this<Streams> {
 public:
  explicit Streams(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
  virtual ~Streams() = default;
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  /// The smallest limit of the open streams counts. `state`: of a stream that this one continues; empty:
  /// none. Throws InputError, and LimitExceeded with the number of streams that fit.
  virtual std::unique_ptr<OpenStream> open(const StreamPlan& plan, std::span<const std::byte> state = {}) = 0;

  int64_t open_streams() const;
  /// Bytes of the device's memory that weights and streams take now.
  virtual int64_t live_bytes() const = 0;

 protected:
  friend class OpenStream;
  /// Bytes of these streams together, with their reserve.
  static int64_t most_bytes(const std::vector<const StreamPlan*>& streams);
  /// The smallest limit of the open streams, and of `more` if given. Call with the mutex held, like the
  /// functions below.
  int64_t limit_bytes(const StreamPlan* more = nullptr) const;
  /// Adds a stream to the open ones. Throws LimitExceeded if it does not fit beside them, and InputError if
  /// its weights do not stay.
  void add(const StreamPlan& plan);

  const std::shared_ptr<const Model> model_;
  mutable std::mutex mutex_;
  std::vector<const StreamPlan*> open_;
};

/// One stream. Its functions throw InputError if another thread is inside one of them.
class OpenStream {
 public:
  OpenStream(const std::shared_ptr<Streams>& streams, StreamPlan plan)
      : plan_(std::move(plan)), streams_(streams) {}
  virtual ~OpenStream() = default;
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;

  const StreamPlan& plan() const { return plan_; }
  /// Makes the sink of a push's frames. Not called for a push that makes none.
  using MakeSink = std::function<PictureSink&(const PictureShape& shape)>;
  /// Like Stream::push(). Returns the number of frames made. Also throws LimitExceeded.
  int64_t push(const ArrayView& input, bool ends, const MakeSink& make_sink);
  bool ended() const;
  /// Stream::state().
  std::vector<std::byte> state();

  int64_t state_bytes() const;  ///< now
  /// The most live bytes during a push so far, weights included, without other streams' state.
  int64_t measured_peak_bytes() const;

 protected:
  /// Stream::push() with the mutex held. Sets the measurements.
  virtual void run(const ArrayView& input, bool ends, PictureSink& sink) = 0;
  /// Takes the stream from the open ones. Call it in the destructor with the mutex held.
  void leave() { std::erase(streams_->open_, &plan_); }

  const StreamPlan plan_;
  // Another thread that opens a stream may move this one. So these need the mutex.
  std::unique_ptr<Stream> stream_;
  int64_t state_bytes_ = 0, measured_peak_bytes_ = 0;

 private:
  const std::shared_ptr<Streams> streams_;
  std::atomic<bool> busy_ = false;
};

}  // namespace headroom
