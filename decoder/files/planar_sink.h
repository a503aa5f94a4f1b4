#pragma once

#include <vector>

#include "decoder/files/picture_sink.h"

namespace headroom {

/// Base of sinks that store values in numpy's and torch's layout, N×C×T×H×W in C order. It collects runs of
/// values of a row and passes on each run with its offset. The whole picture is never in memory.
class PlanarSink : public PictureSink {
 public:
  explicit PlanarSink(const PictureShape& shape);

  /// Size of the run buffer in bytes.
  static int64_t buffered_bytes();

 protected:
  void put(int64_t item, const Region& region, const float* pixels) final;
  /// Writes contiguous values, beginning at element `first` of the picture.
  virtual void put_run(int64_t first, const float* values, int64_t count) = 0;

 private:
  void put_frame(int64_t item, int64_t frame, const Region& region, const float* pixels);
  std::vector<float> run_;
};

}  // namespace headroom
