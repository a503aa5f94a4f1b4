#pragma once

#include <vector>

#include "decoder/gpu/calls/calls.h"

namespace headroom::gpu {

/// A range of bytes that one item of work reads or writes.
struct Access {
  const std::byte* begin = nullptr;
  int64_t bytes = 0;
  bool writes = false;
};

/// Memory that a call may access, row by row. Throws std::logic_error if the call would access an absent
/// block or a position outside its view.
std::vector<Access> accesses_of(const Call& call);

}  // namespace headroom::gpu
