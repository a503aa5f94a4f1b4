#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "decoder/cpu/limited_pool.h"
#include "decoder/cpu/packed_weights.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/stream.h"
#include "decoder/interpreter/stream_memory.h"

namespace headroom {

class CpuStream;

/// Streams of one model on the CPU. They share packed weights and one pool, and their blocks run one after
/// another. A limit covers all of them: the weights once, the state of each, and the work of one.
class CpuStreams : public std::enable_shared_from_this<CpuStreams> {
 public:
  /// Reads and packs the weights. Throws what `source` throws.
  CpuStreams(std::shared_ptr<const Model> model, const ParameterSource& source);

  /// Opens a stream that lives at most as long as its plan's limit allows for. The smallest limit of the open
  /// streams counts. Throws InputError, and LimitExceeded with the number of streams that fit.
  /// `state`: of a stream that this one continues; empty: none.
  std::unique_ptr<CpuStream> open(const StreamPlan& plan, std::span<const std::byte> state = {});

  int64_t open_streams() const;
  int64_t live_bytes() const { return pool_.live_bytes(); }

 private:
  friend class CpuStream;
  /// The most that these streams take together, with their reserve.
  static int64_t most_bytes(const std::vector<const StreamPlan*>& streams);
  /// Limit on the pool with the streams that are open. Call with the mutex held.
  int64_t pool_limit_bytes() const;

  const std::shared_ptr<const Model> model_;
  mutable std::mutex mutex_;
  LimitedPool pool_;
  std::optional<Weights> weights_;
  std::vector<const StreamPlan*> open_;
};

/// One stream. Its functions throw InputError if another thread is inside one of them.
class CpuStream {
 public:
  CpuStream(std::shared_ptr<CpuStreams> streams, const StreamPlan& plan);
  ~CpuStream();
  CpuStream(const CpuStream&) = delete;
  CpuStream& operator=(const CpuStream&) = delete;

  const StreamPlan& plan() const { return plan_; }
  /// Makes the sink of a push's frames. Not called for a push that makes none.
  using MakeSink = std::function<PictureSink&(const PictureShape& shape)>;
  /// Like Stream::push(). Returns the number of frames made. Also throws LimitExceeded.
  int64_t push(const ArrayView& input, bool ends, const MakeSink& make_sink);
  bool ended() const { return stream_->ended(); }
  /// Stream::state().
  std::vector<std::byte> state();

  int64_t state_bytes() const { return state_bytes_; }  ///< now
  /// The most live bytes during a push so far, weights included, without other streams' state.
  int64_t measured_peak_bytes() const { return measured_peak_bytes_; }

 private:
  friend class CpuStreams;

  const std::shared_ptr<CpuStreams> streams_;
  const StreamPlan plan_;
  PlannedWeights weights_;
  std::optional<Stream> stream_;
  int64_t state_bytes_ = 0, measured_peak_bytes_ = 0;
  std::atomic<bool> busy_ = false;
};

}  // namespace headroom
