#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "decoder/base/os/open_file.h"

namespace headroom {

/// Element type in a file. `other` is any type that the decoder does not read.
enum class StoredDtype { f32, f16, bf16, f64, other };

/// Converts safetensors' "F32", "F16" and "BF16". All others give `other`, including F64, which weights
/// never use.
StoredDtype parse_stored_dtype(const std::string& name);

/// Bytes of one element by safetensors' dtype name; 0 for an unknown name.
int64_t stored_element_bytes(const std::string& name);
/// Bytes of one element. Not for `other`.
int64_t stored_element_bytes(StoredDtype dtype);

/// Converts `count` little-endian elements to fp32. `source` may be unaligned. The conversion is exact,
/// including subnormals, infinities and NaN. Only f64 is rounded, and becomes infinity beyond fp32's range.
/// `dtype` must not be `other`.
void convert_to_float(StoredDtype dtype, const std::byte* source, int64_t count, float* out);

/// Reads `count` elements at `offset` and converts them to fp32, with a buffer of 256 KiB.
void read_as_float(const ReadOnlyFile& file, int64_t offset, StoredDtype dtype, int64_t count, float* out);

/// Index of the first NaN or infinity; -1 if there is none.
int64_t first_non_finite(const float* values, int64_t count);

}  // namespace headroom
