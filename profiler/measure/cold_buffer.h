#pragma once

#include <functional>
#include <memory>

#include "decoder/interpreter/map_view.h"

namespace headroom::profiler {

/// Memory for kept tensors in this dtype. Each view begins after the previous one and wraps around, so that a
/// view's data is never in a cache.
class ColdBuffer {
 public:
  /// Allocates memory for this many values in the dtype.
  using Take = std::function<std::shared_ptr<void>(int64_t values)>;
  /// The buffer holds at least `apart_bytes`, and at least the largest view.
  ColdBuffer(Dtype dtype, int64_t apart_bytes, Take take)
      : dtype_(dtype), apart_bytes_(apart_bytes), take_(std::move(take)) {}

  Dtype dtype() const { return dtype_; }
  /// Grows the buffer to at least this many values.
  void hold(int64_t values);
  MapView next(int64_t rows, int64_t columns, int64_t channels);

 private:
  const Dtype dtype_;
  const int64_t apart_bytes_;
  const Take take_;
  std::shared_ptr<void> values_;
  int64_t count_ = 0, offset_ = 0;
};

}  // namespace headroom::profiler
