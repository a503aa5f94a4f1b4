#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "decoder/files/picture_sink.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/transfers/pinned_staging.h"

namespace headroom {

/// Passes pieces of a picture to their sink in order, on its own thread, while the decode continues. Its
/// functions are not thread-safe. If a sink throws, the writer drops the remaining pieces. Later calls of
/// give() and wait_until_left() rethrow the exception.
class PictureWriter {
 public:
  struct Piece {
    PictureSink* sink = nullptr;
    int64_t item = 0;
    Region region{};
    PixelFormat format = PixelFormat::fp32;
    const std::byte* pixels = nullptr;  ///< must not change until the piece is written
  };

  PictureWriter() = default;
  /// Drops the waiting pieces and waits for the one that is being written.
  ~PictureWriter();
  PictureWriter(const PictureWriter&) = delete;
  PictureWriter& operator=(const PictureWriter&) = delete;

  void give(const Piece& piece);
  /// Pieces that are not written yet.
  int64_t left() const;
  /// Blocks until at most `most` pieces are left.
  void wait_until_left(int64_t most);

 private:
  void run();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;  ///< the first one is being written
  std::exception_ptr failed_;
  bool ends_ = false;
  std::thread thread_;  ///< started by the first piece
};

/// Receives results from a GPU during a decode: pieces of the picture, which a thread passes to their sink,
/// and flags for values that are not finite. Each new request first checks the results that have arrived, in
/// the order of the compute stream. So the error names the first layer with a value that is not finite, and
/// no later piece reaches a sink. Functions throw this DeviceError, and exceptions of the sink.
class GpuOutput {
 public:
  /// Uses `staging` exclusively. `gpu` and `staging` must outlive it. `shift` is added to every value.
  GpuOutput(gpu::Gpu& gpu, const OutputStaging& staging, float shift = 0)
      : gpu_(gpu), staging_(staging), shift_(shift) {}
  /// Drops pieces in flight and waits until the GPU and the sink use none of the buffers.
  ~GpuOutput();
  GpuOutput(const GpuOutput&) = delete;
  GpuOutput& operator=(const GpuOutput&) = delete;

  /// Sends a region of one item to the sink, which must outlive this object. Returns before the sink has the
  /// region. Blocks while all staging buffers are in use. A picture on the GPU needs no staging.
  void emit(const gpu::View& source, int64_t item, const Region& region, const std::string& layer,
            PictureSink& sink);
  /// Queues a check that the `values` on the GPU, as left by the work so far, are finite.
  void check_finite(const double* values, int64_t count, const std::string& layer);
  /// Queues a call with a flag `not_finite`. If the flag is found raised, calls `stop`, which may throw.
  template <typename Checked>
  void run_checked(Checked call, const std::function<void()>& stop) {
    poll();
    call.not_finite = free_flag();
    gpu_.run(call);
    await(call.not_finite, stop, {});
  }
  /// Waits until all checks are done and the sinks have all pieces.
  void finish();
  /// Seconds in which the GPU was idle because it waited for a sink.
  double wait_seconds() const { return std::chrono::duration<double>(waited_).count(); }

 private:
  struct Awaited {
    gpu::Event over;
    const uint32_t* not_finite;
    std::function<void()> stop;
    std::optional<PictureWriter::Piece> piece;
  };
  void emit_piece(const gpu::View& source, const std::string& layer, PictureWriter::Piece piece);
  std::byte* free_buffer();
  uint32_t* free_flag();
  /// Registers a result that is ready when the work queued so far is done.
  void await(const uint32_t* not_finite, std::function<void()> stop,
             std::optional<PictureWriter::Piece> piece);
  /// Handles all results that have arrived.
  void poll();
  /// Waits for the next result and handles it.
  void take_next();
  int64_t pieces_awaited() const;
  void wait_for_writer(int64_t most_left);

  gpu::Gpu& gpu_;
  const OutputStaging& staging_;
  const float shift_;
  std::deque<Awaited> awaited_;
  int64_t buffers_used_ = 0, flags_used_ = 0;  ///< so far
  std::chrono::steady_clock::duration waited_{};
  PictureWriter writer_;
};

}  // namespace headroom
