#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/output_staging.h"
#include "decoder/gpu/picture_writer.h"

namespace headroom {

/// Receives results from a GPU during a decode: pieces of the picture, which a thread gives to their sink,
/// and flags for values that are not finite. Each new request first looks at the results that arrived, in the
/// order of the compute stream. So the error names the first layer that is not finite, and no later piece
/// reaches a sink. Functions throw that DeviceError, and whatever a sink threw.
class GpuOutput {
 public:
  /// `staging` is nobody else's meanwhile, and outlives it as `gpu` does. `shift` is added to every value.
  GpuOutput(gpu::Gpu& gpu, const OutputStaging& staging, float shift = 0)
      : gpu_(gpu), staging_(staging), shift_(shift) {}
  /// Drops what is on its way, and returns when nothing is any more.
  ~GpuOutput();
  GpuOutput(const GpuOutput&) = delete;
  GpuOutput& operator=(const GpuOutput&) = delete;

  /// Sends a region of one item to the sink, which must outlive this. Returns before it is there, but waits
  /// where as much is on its way as the staging holds.
  void emit(const gpu::View& source, int64_t item, const Region& region, const std::string& layer,
            PictureSink& sink);
  /// Asks whether values are finite that the GPU's work so far leaves there.
  void check_finite(const double* values, int64_t count, const std::string& layer);
  /// Returns once all that was asked for is known, and all pieces are with their sink.
  void finish();
  /// In which the GPU had nothing to do because the sink had not taken what there was.
  double wait_seconds() const { return std::chrono::duration<double>(waited_).count(); }

 private:
  struct Awaited {
    gpu::Event over;
    const uint32_t* not_finite;
    std::string layer;
    std::optional<PictureWriter::Piece> piece;
  };
  void emit_piece(const gpu::View& source, const std::string& layer, PictureWriter::Piece piece);
  std::byte* free_buffer();
  uint32_t* free_flag();
  /// The work that was given last makes it known.
  void await(const uint32_t* not_finite, const std::string& layer, std::optional<PictureWriter::Piece> piece);
  /// Looks at what has come.
  void poll();
  /// Looks at the next result, once it has come.
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
