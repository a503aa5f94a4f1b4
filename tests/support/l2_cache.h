#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "tests/emulated_gpu/accesses.h"

namespace headroom::test {

/// A cache between a GPU and its memory: least recently used pieces leave first, and what was written goes to
/// memory when it leaves. A call reads all that it reads before it writes, so a call whose operands do not
/// fit counts them all.
class L2Cache {
 public:
  explicit L2Cache(int64_t bytes) : most_pieces_(static_cast<size_t>(bytes / kPieceBytes)) {}

  void touch(const gpu::Access& access) {
    const auto begin = reinterpret_cast<uintptr_t>(access.begin);
    for (uintptr_t piece = begin / kPieceBytes; piece * kPieceBytes < begin + access.bytes; ++piece)
      touch(piece, access.writes);
  }
  /// Read from memory and written to it so far; what is still in the cache is not written.
  int64_t memory_bytes() const { return memory_bytes_; }

 private:
  static constexpr uintptr_t kPieceBytes = uintptr_t{1} << 15;
  struct Piece {
    uintptr_t number = 0;
    bool written = false;
  };

  void touch(uintptr_t number, bool writes) {
    const auto known = places_.find(number);
    if (known != places_.end()) {
      pieces_.splice(pieces_.begin(), pieces_, known->second);
    } else {
      if (!writes) memory_bytes_ += kPieceBytes;
      pieces_.push_front({number});
      places_[number] = pieces_.begin();
    }
    pieces_.front().written |= writes;
    if (pieces_.size() <= most_pieces_) return;
    if (pieces_.back().written) memory_bytes_ += kPieceBytes;
    places_.erase(pieces_.back().number);
    pieces_.pop_back();
  }

  const size_t most_pieces_;
  std::list<Piece> pieces_;  ///< the one used last in front
  std::unordered_map<uintptr_t, std::list<Piece>::iterator> places_;
  int64_t memory_bytes_ = 0;
};

}  // namespace headroom::test
