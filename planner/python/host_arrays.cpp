#include "planner/python/host_arrays.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <utility>

#include "decoder/cpu/loops/storage.h"
#include "decoder/interpreter/pixels.h"

namespace headroom::python {
namespace {

StoredDtype dtype_of(const nb::dlpack::dtype& dtype) {
  if (dtype.lanes != 1) return StoredDtype::other;
  const auto code = static_cast<nb::dlpack::dtype_code>(dtype.code);
  if (code == nb::dlpack::dtype_code::Float && dtype.bits == 32) return StoredDtype::f32;
  if (code == nb::dlpack::dtype_code::Float && dtype.bits == 16) return StoredDtype::f16;
  if (code == nb::dlpack::dtype_code::Bfloat && dtype.bits == 16) return StoredDtype::bf16;
  return StoredDtype::other;
}

template <typename Array>
std::vector<int64_t> shape_of(const Array& array) {
  std::vector<int64_t> shape;
  for (size_t axis = 0; axis < array.ndim(); ++axis) shape.push_back(static_cast<int64_t>(array.shape(axis)));
  return shape;
}

/// Raises InputError unless the memory behind a torch tensor covers its elements. PyTorch has tensors without
/// memory, such as fake ones and shards that were resized to nothing, and DLPack does not carry the size of a
/// storage. `tensor` is the array's origin.
template <typename Array>
void require_storage(const nb::handle& tensor, const Array& array, const std::string& name) {
  if (array.size() == 0) return;
  size_t found = array.data() == nullptr ? 0 : array.nbytes();
  if (found != 0 && nb::hasattr(tensor, "untyped_storage")) {
    const auto bytes = nb::cast<size_t>(tensor.attr("untyped_storage")().attr("nbytes")());
    const size_t offset = nb::cast<size_t>(tensor.attr("storage_offset")()) * array.itemsize();
    found = bytes - std::min(bytes, offset);
  }
  if (found >= array.nbytes()) return;
  throw InputError(name + ": expected " + std::to_string(array.nbytes()) + " bytes of values, found " +
                   std::to_string(found) + ". The tensor's storage was freed, or the tensor is fake");
}

template <typename Array>
Array array_of(const nb::handle& tensor, const std::string& name) {
  Array array;
  if (!nb::try_cast<Array>(tensor, array, false))
    throw InputError(name + ": expected a contiguous tensor in the CPU's memory");
  require_storage(tensor, array, name);
  return array;
}

}  // namespace

Stored stored_array(const nb::handle& tensor, const std::string& name) {
  return array_of<Stored>(tensor, name);
}

Picture picture_array(const nb::handle& tensor, const std::string& name) {
  return array_of<Picture>(tensor, name);
}

HeldTensors::HeldTensors(const nb::dict& tensors, const std::string& origin) {
  std::unordered_map<std::string, MemoryTensor> found;
  for (const auto& [key, value] : tensors) {
    const auto name = nb::cast<std::string>(key);
    auto array = stored_array(value, origin + ": " + name);
    found[name] = {dtype_of(array.dtype()), shape_of(array), static_cast<const std::byte*>(array.data())};
    held_.push_back(std::move(array));
  }
  weights_.emplace(origin, std::move(found));
}

Dtype float_dtype(const nb::dlpack::dtype& dtype, const char* name) {
  switch (dtype_of(dtype)) {
    case StoredDtype::f32:
      return Dtype::fp32;
    case StoredDtype::f16:
      return Dtype::fp16;
    case StoredDtype::bf16:
      return Dtype::bf16;
    default:
      throw InputError(std::string(name) + ": expected fp32, fp16 or bf16");
  }
}

ArrayView view_of(const Stored& latent, std::vector<float>& widened, const char* name) {
  const Dtype dtype = float_dtype(latent.dtype(), name);
  const auto* values = static_cast<const float*>(latent.data());
  if (dtype != Dtype::fp32) {
    widened.resize(latent.size());
    kernels::widen(dtype, latent.data(), widened.data(), static_cast<int64_t>(latent.size()));
    values = widened.data();
  }
  require_finite_latent({values, latent.size()});
  return {shape_of(latent), values};
}

int64_t elements_of(const PictureShape& shape) {
  return shape.items * shape.channels * shape.frames * shape.rows * shape.columns;
}

}  // namespace headroom::python
