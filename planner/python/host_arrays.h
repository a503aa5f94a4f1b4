#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/files/stored_dtype.h"
#include "decoder/weights/memory_weights.h"

// Torch tensors in the CPU's memory, as the decoder reads and writes them.
namespace headroom::python {

namespace nb = nanobind;

using Stored = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Picture = nb::ndarray<nb::c_contig, nb::device::cpu>;

/// The array of a torch tensor. No conversion: a silent copy in another dtype or order would go unnoticed.
/// Raises InputError unless the tensor's memory covers its elements.
Stored stored_array(const nb::handle& tensor, const std::string& name);
/// stored_array() that can be written.
Picture picture_array(const nb::handle& tensor, const std::string& name);

/// Raises InputError unless the dtype is fp32, fp16 or bf16.
Dtype float_dtype(const nb::dlpack::dtype& dtype, const char* name);

/// The caller's tensors. Holds references to them while the decoder reads their memory.
class HeldTensors {
 public:
  HeldTensors(const nb::dict& tensors, const std::string& origin);
  const MemoryWeights& weights() const { return *weights_; }

 private:
  std::vector<Stored> held_;
  std::optional<MemoryWeights> weights_;
};

/// Values of `tensor`: its own memory if it is fp32, otherwise `widened`. Raises InputError if one is not
/// finite.
ArrayView view_of(const Stored& tensor, std::vector<float>& widened, const char* name = "latent");

int64_t elements_of(const PictureShape& shape);

}  // namespace headroom::python
