#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace headroom {

/// A block that is copied to another place, which is free by then.
struct Move {
  size_t event = 0;    ///< of the decode's requests, before which it happens
  int64_t number = 0;  ///< of the block's request
  int64_t bytes = 0;
  int64_t from = 0, to = 0;
  bool operator==(const Move&) const = default;
};

int64_t bytes_of(std::span<const Move> moves);

/// A block that stands between two passes, and where it is to lie in the next.
struct StandingBlock {
  int64_t number = 0, bytes = 0;
  int64_t from = 0, to = 0;
};

/// A copy of what one or more blocks hold that lie side by side.
struct Copy {
  int64_t bytes = 0, from = 0, to = 0;
  bool operator==(const Copy&) const = default;
};
/// The fewest copies, in order, that do what these moves do: neighbours that stay neighbours go together.
std::vector<Copy> copies_of(std::span<const Move> moves);

/// Moves, one after the other, that bring all blocks to where they are to lie. Where every place that is
/// wanted is taken, a block is put aside first. Nothing leaves [begin, end), where nothing else lies. Empty
/// where that was not found to be possible.
///
///      from           to            a cannot go straight to where b lies: b is put aside first
///     ┌───┐         ┌───┐
///     │ a │         │ b │           1. b to the end   2. a to its place   3. b to its place
///     ├───┤         ├───┤
///     │ b │         │ a │
///     ├───┤         ├───┤
///     │   │ free    │   │ free
///     └───┘         └───┘
std::optional<std::vector<Move>> moves_of(std::vector<StandingBlock> blocks, size_t event, int64_t begin,
                                          int64_t end);

}  // namespace headroom
