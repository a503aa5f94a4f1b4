#pragma once

#include <array>

#include "decoder/gpu/calls/calls.h"

namespace headroom::gpu {

/// What a GPU's time goes to.
enum class TimeScope { convolution, attention, elementwise, waiting, copies };
constexpr int kTimeScopes = 5;
const char* name_of(TimeScope part);
/// By part. That of copies goes on beside the others'.
using ScopeSeconds = std::array<double, kTimeScopes>;

/// Of a call. Sums of keys and values belong to attention; norms, what moves values, and statistics are
/// elementwise.
TimeScope part_of(const Call& call);

}  // namespace headroom::gpu
