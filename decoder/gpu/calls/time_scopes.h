#pragma once

#include <array>

#include "decoder/gpu/calls/calls.h"

namespace headroom::gpu {

/// Uses of a GPU's time: kinds of calls, waiting, and copies to and from the host.
enum class TimeScope { convolution, attention, elementwise, waiting, copies };
constexpr int kTimeScopes = 5;
const char* name_of(TimeScope scope);
/// Seconds by scope. Copies overlap with the other scopes.
using ScopeSeconds = std::array<double, kTimeScopes>;

/// The scope of a call. Sums of keys and values belong to attention. Norms, data movement and statistics are
/// elementwise.
TimeScope scope_of(const Call& call);

}  // namespace headroom::gpu
