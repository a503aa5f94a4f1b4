#include "planner/python/tensor_sink.h"

#include "decoder/cpu/loops/storage.h"

namespace headroom::python {

TensorSink::TensorSink(const PictureShape& shape, Dtype dtype, std::byte* values)
    : PlanarSink(shape), dtype_(dtype), values_(values) {}

void TensorSink::put_run(int64_t first, const float* values, int64_t count) {
  kernels::narrow(dtype_, values, values_ + first * bytes_per_element(dtype_), count);
}

}  // namespace headroom::python
