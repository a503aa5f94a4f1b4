#pragma once

#include <vector>

#include "decoder/files/picture_sink.h"

namespace headroom {

/// A picture whose values lie as numpy and torch have them, N×C×T×H×W in C order. Runs of a row's values are
/// gathered and handed on by their place; the picture is never in memory.
class PlanarSink : public PictureSink {
 public:
  explicit PlanarSink(const PictureShape& shape);

  /// Bytes of what is gathered.
  static int64_t buffered_bytes();

 protected:
  void put(int64_t item, const Region& region, const float* pixels) final;
  /// Takes values that lie one after another, from element `first` of the picture on.
  virtual void put_run(int64_t first, const float* values, int64_t count) = 0;

 private:
  void put_frame(int64_t item, int64_t frame, const Region& region, const float* pixels);
  std::vector<float> run_;
};

}  // namespace headroom
