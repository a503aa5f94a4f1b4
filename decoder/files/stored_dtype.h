#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace headroom {

/// How a file stores its numbers. `other` stands for everything that the decoder does not read.
enum class StoredDtype { f32, f16, bf16, f64, other };

/// "F32", "F16" and "BF16", safetensors' names; all else is `other`, F64 too: weights never come in it.
StoredDtype parse_stored_dtype(const std::string& name);

/// Bytes of one element by safetensors' name, 0 for names that are not known.
int64_t stored_element_bytes(const std::string& name);
/// Bytes of one element. Not for `other`.
int64_t stored_element_bytes(StoredDtype dtype);

/// Converts `count` little-endian elements, not necessarily aligned, to fp32. Exact for every bit pattern:
/// subnormal numbers, infinities and NaN too, but f64 is rounded, to infinity beyond fp32's range. Not for
/// `other`.
void convert_to_float(StoredDtype dtype, const std::byte* source, int64_t count, float* out);

/// The index of the first NaN or infinity, -1 where there is none.
int64_t first_non_finite(const float* values, int64_t count);

}  // namespace headroom
