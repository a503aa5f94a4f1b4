#pragma once

#include <vector>

#include "decoder/gpu/calls/calls.h"

namespace headroom::gpu {

/// Bytes that one item of work reads or writes.
struct Access {
  const std::byte* begin = nullptr;
  int64_t bytes = 0;
  bool writes = false;
};

/// What a call touches, at the most, row by row. Throws std::logic_error where it would touch a block that
/// is not there, or a position that its view does not have.
std::vector<Access> accesses_of(const Call& call);

}  // namespace headroom::gpu
