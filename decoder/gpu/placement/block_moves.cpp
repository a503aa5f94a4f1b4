#include "decoder/gpu/placement/placement.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>

namespace headroom {
namespace {

class MoveOrder {
 public:
  MoveOrder(std::vector<StandingBlock> blocks, size_t event, int64_t begin, int64_t end)
      : blocks_(std::move(blocks)), event_(event), begin_(begin), end_(end) {
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i].from != blocks_[i].to) waiting_.push_back(i);
      lying_[blocks_[i].from] = i;
    }
    puts_aside_ = 2 * waiting_.size();
  }

  std::optional<std::vector<Move>> run() {
    while (true) {
      while (move_straight()) {
      }
      if (waiting_.empty()) return std::move(moves_);
      if (puts_aside_-- == 0 || !put_aside()) return std::nullopt;
    }
  }

 private:
  int64_t end_of(size_t block) const { return blocks_[block].from + blocks_[block].bytes; }

  /// The first block that reaches beyond `offset`.
  std::map<int64_t, size_t>::const_iterator beyond(int64_t offset) const {
    auto block = lying_.upper_bound(offset);
    if (block != lying_.begin() && end_of(std::prev(block)->second) > offset) --block;
    return block;
  }
  bool is_free(int64_t offset, int64_t bytes) const {
    const auto block = beyond(offset);
    return block == lying_.end() || block->first >= offset + bytes;
  }

  void move(size_t block, int64_t to) {
    StandingBlock& moved = blocks_[block];
    moves_.push_back({event_, moved.number, moved.bytes, moved.from, to});
    lying_.erase(moved.from);
    moved.from = to;
    lying_[to] = block;
  }

  /// Moves all blocks whose target is free. False if there are none.
  bool move_straight() {
    const size_t before = waiting_.size();
    std::erase_if(waiting_, [&](size_t block) {
      if (!is_free(blocks_[block].to, blocks_[block].bytes)) return false;
      move(block, blocks_[block].to);
      return true;
    });
    return waiting_.size() < before;
  }

  /// Puts aside a block that occupies another block's target or overlaps its own.
  bool put_aside() {
    for (const size_t wanting : waiting_) {
      const int64_t offset = blocks_[wanting].to, end = offset + blocks_[wanting].bytes;
      for (auto block = beyond(offset); block != lying_.end() && block->first < end; ++block) {
        const std::optional<int64_t> aside = highest_gap(blocks_[block->second].bytes, offset, end);
        if (!aside) continue;
        move(block->second, *aside);
        return true;
      }
    }
    return false;
  }

  /// Highest free offset for `bytes` outside [avoid_begin, avoid_end).
  std::optional<int64_t> highest_gap(int64_t bytes, int64_t avoid_begin, int64_t avoid_end) const {
    const auto within = [&](int64_t begin, int64_t end) -> std::optional<int64_t> {
      if (end - begin < bytes) return std::nullopt;
      if (end - bytes >= avoid_end || end <= avoid_begin) return end - bytes;
      end = std::min(end, avoid_begin);
      return end - begin >= bytes ? std::optional(end - bytes) : std::nullopt;
    };
    int64_t end = end_;
    for (auto block = lying_.rbegin(); block != lying_.rend(); ++block) {
      if (const auto place = within(end_of(block->second), end)) return place;
      end = block->first;
    }
    return within(begin_, end);
  }

  std::vector<StandingBlock> blocks_;
  const size_t event_;
  const int64_t begin_, end_;
  std::map<int64_t, size_t> lying_;  ///< by offset
  std::vector<size_t> waiting_;      ///< blocks that are not at their target yet
  size_t puts_aside_ = 0;            ///< remaining detours; the limit ensures termination
  std::vector<Move> moves_;
};

/// Merges two copies of adjacent blocks, in either order, if source and destination do not overlap.
std::optional<Copy> joined(const Copy& first, const Copy& second) {
  if (first.to - first.from != second.to - second.from) return std::nullopt;
  const bool behind = second.from == first.from + first.bytes;
  if (!behind && first.from != second.from + second.bytes) return std::nullopt;
  const Copy& lower = behind ? first : second;
  const Copy both{first.bytes + second.bytes, lower.from, lower.to};
  if (std::abs(both.to - both.from) < both.bytes) return std::nullopt;
  return both;
}

}  // namespace

int64_t bytes_of(std::span<const Move> moves) {
  return std::accumulate(moves.begin(), moves.end(), int64_t{0},
                         [](int64_t sum, const Move& move) { return sum + move.bytes; });
}

std::vector<Copy> copies_of(std::span<const Move> moves) {
  std::vector<Copy> copies;
  for (const Move& move : moves) {
    const Copy copy{move.bytes, move.from, move.to};
    const std::optional<Copy> both = copies.empty() ? std::nullopt : joined(copies.back(), copy);
    if (both)
      copies.back() = *both;
    else
      copies.push_back(copy);
  }
  return copies;
}

std::optional<std::vector<Move>> moves_of(std::vector<StandingBlock> blocks, size_t event, int64_t begin,
                                          int64_t end) {
  return MoveOrder(std::move(blocks), event, begin, end).run();
}

}  // namespace headroom
