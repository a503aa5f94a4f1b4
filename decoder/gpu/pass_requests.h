#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "decoder/gpu/live_range.h"
#include "decoder/gpu/memory_requests.h"

namespace headroom {

/// What a pass asks for, behind what stands when it begins, as if it were a decode of its own.
struct PassRequests {
  size_t begin = 0;  ///< its first event among those of the decode
  MemoryRequests requests;
  std::vector<size_t> numbers;  ///< of them, among all of the decode
  size_t standing = 0;          ///< the first of them stand

  std::vector<LiveRange> ranges;  ///< of them
  int64_t live_bytes = 0;         ///< most at one time
};

/// What stays where it is put although it outlives the pass in which it comes: whoever asked for it knows its
/// address. A micro-batch has it from before its first pass on.
struct FixedRequests {
  std::vector<size_t> numbers;
  std::vector<int64_t> offsets;  ///< one behind the other from the beginning, by micro-batch
};

/// A decode, pass by pass.
struct RequestsByPass {
  FixedRequests fixed;
  std::vector<int64_t> fixed_bytes;  ///< by pass: behind these lies what the pass asks for
  std::vector<PassRequests> passes;
};

/// Of requests without repeats. Empty where something that cannot be moved comes within a pass and outlives
/// it.
std::optional<RequestsByPass> by_pass(const MemoryRequests& all);

}  // namespace headroom
