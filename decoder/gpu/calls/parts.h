#pragma once

#include <array>

#include "decoder/gpu/calls/calls.h"

namespace headroom::gpu {

/// What a GPU's time goes to.
enum class Part { convolution, attention, elementwise, waiting, copies };
constexpr int kParts = 5;
const char* name_of(Part part);
/// By part. That of copies goes on beside the others'.
using PartSeconds = std::array<double, kParts>;

/// Of a call. Sums of keys and values belong to attention; norms, what moves values, and statistics are
/// elementwise.
Part part_of(const Call& call);

}  // namespace headroom::gpu
