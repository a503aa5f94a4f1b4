#pragma once

#include <cstddef>

#include "decoder/files/array_sink.h"
#include "decoder/graph/graph.h"

namespace headroom::python {

/// Writes a picture into the caller's array, in the array's dtype.
class TensorSink final : public PlanarSink {
 public:
  /// `values` has one element of `dtype` for each value of `shape`. It must outlive the sink.
  TensorSink(const PictureShape& shape, Dtype dtype, std::byte* values);

 private:
  void put_run(int64_t first, const float* values, int64_t count) override;
  void complete() override {}

  const Dtype dtype_;
  std::byte* values_;
};

}  // namespace headroom::python
