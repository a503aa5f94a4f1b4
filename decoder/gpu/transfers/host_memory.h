#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// Reserves pinned host memory for staging copies to and from a GPU. Throws DoesNotFit if the host refuses.
std::byte* reserve_staging(gpu::Gpu& gpu, int64_t bytes);

/// Pinned host memory for a decode's tensors, addressed by offset. It is allocated in pieces, because hosts
/// refuse very large pinned allocations or take long for them.
class HostMemory {
 public:
  static constexpr int64_t kPieceBytes = int64_t{2} << 30;

  /// Throws DoesNotFit if the host refuses. Tests set `piece_bytes`.
  HostMemory(gpu::Gpu& gpu, int64_t bytes, int64_t piece_bytes = kPieceBytes);

  /// Calls f(address, first, count) for each part of [offset, offset + bytes) that lies in one piece. `first`
  /// is relative to `offset`. A copy must not cross pieces.
  template <typename F>
  void for_each_part(int64_t offset, int64_t bytes, const F& f) const {
    for (int64_t first = 0; first < bytes;) {
      const int64_t at = offset + first, in_piece = at % piece_bytes_;
      const int64_t count = std::min(bytes - first, piece_bytes_ - in_piece);
      f(pieces_.at(static_cast<size_t>(at / piece_bytes_)) + in_piece, first, count);
      first += count;
    }
  }

 private:
  int64_t piece_bytes_;
  std::vector<std::byte*> pieces_;
};

/// Offsets of kept tensors in pinned host memory. All blocks of a tensor, for all items, are contiguous.
struct HostLayout {
  struct Buffer {
    int64_t offset = 0;
    int64_t block_bytes = 0;  ///< from one block to the next
  };
  std::map<TensorId, Buffer> tensors;
  int64_t bytes = 0;
};

/// The layout for all items of a micro-batch.
HostLayout host_layout(const Graph& graph, const Plan& plan);

}  // namespace headroom
