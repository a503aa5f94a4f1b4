#pragma once

#include <cstddef>
#include <vector>

#include "decoder/files/picture_sink.h"
#include "decoder/graph/graph.h"

namespace headroom::python {

/// Writes a picture into somebody else's array, N×C×T×H×W in C order, in its own dtype.
class TensorSink final : public PictureSink {
 public:
  /// `values` holds as many elements of the dtype as the shape has, and outlives the sink.
  TensorSink(const PictureShape& shape, Dtype dtype, std::byte* values);

 private:
  void put(int64_t item, const Region& region, const float* pixels) override;
  void complete() override {}

  const Dtype dtype_;
  std::byte* values_;
  std::vector<float> plane_;  ///< one channel of a few rows
};

}  // namespace headroom::python
