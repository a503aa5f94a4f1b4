#pragma once

#include <functional>
#include <memory>

#include "decoder/interpreter/map_view.h"

namespace headroom::profiler {

/// A tensor that is kept, in this dtype, as sweeps meet it: each view of it lies after the one
/// before, round and round, so far apart that caches do not hold it.
class ColdBuffer {
 public:
  /// Gives memory with so many values in the dtype.
  using Take = std::function<std::shared_ptr<void>(int64_t values)>;
  /// Views move through `apart_bytes`, or through the largest of them.
  ColdBuffer(Dtype dtype, int64_t apart_bytes, Take take)
      : dtype_(dtype), apart_bytes_(apart_bytes), take_(std::move(take)) {}

  Dtype dtype() const { return dtype_; }
  /// So many values are there from now on.
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
