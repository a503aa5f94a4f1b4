#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "decoder/cpu/loops/storage.h"
#include "decoder/gpu/calls/calls.h"
#include "tests/emulated_gpu/guarded_memory.h"
#include "tests/support/random.h"

namespace headroom::gpu::test {

using headroom::test::Random;

struct Position {
  int32_t t, y, x, c;
};

/// Values in blocks that lie anywhere, NaNs beside them, and what was written there. Braces construct it
/// where several arguments draw: compilers evaluate braces from left to right, and parentheses in any order.
class Map {
 public:
  Map(Random& random, const Box& region, int32_t channels, Dtype dtype, bool one_block = false) {
    const int32_t rows = region.y.end - region.y.begin;
    view_.region = region;
    view_.channels = channels;
    view_.dtype = dtype;
    view_.block_rows = one_block ? rows : static_cast<int32_t>(random.integer(1, rows));
    view_.blocks = (rows + view_.block_rows - 1) / view_.block_rows;
    const int64_t pixels =
        int64_t{region.t.end - region.t.begin} * view_.block_rows * (region.x.end - region.x.begin);
    const int64_t block_bytes = pixels * channels * bytes_per_element(dtype);
    const int64_t units = (block_bytes + kBlockUnit - 1) / kBlockUnit;
    std::vector<uint32_t> order(static_cast<size_t>(view_.blocks + 1));
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[static_cast<size_t>(random.integer(0, static_cast<int64_t>(i)))]);
    std::fill(std::begin(view_.block_units), std::end(view_.block_units), kAbsent);
    for (int32_t i = 0; i < view_.blocks; ++i)
      view_.block_units[i] = static_cast<uint32_t>(order[static_cast<size_t>(i)] * units);
    const int64_t slots = *std::max_element(view_.block_units, view_.block_units + view_.blocks) + units;
    memory_ = {static_cast<size_t>(slots * kBlockUnit), random.chance(0.5)};
    std::memset(memory_.data(), kUnused, memory_.size());
    used_.assign(memory_.size(), false);
    each([&](const Position& at) {
      set(at, static_cast<float>(random.uniform(-3, 3)));
      std::fill_n(used_.begin() + offset(at), bytes_per_element(dtype), true);
    });
  }

  /// For a kernel.
  View view() {
    View view = view_;
    view.base = bytes();
    return view;
  }
  const Box& region() const { return view_.region; }
  Dtype dtype() const { return view_.dtype; }
  int32_t channels() const { return view_.channels; }

  float at(const Position& position) const {
    float value = 0;
    kernels::widen(view_.dtype, bytes() + offset(position), &value, 1);
    return value;
  }
  void set(const Position& position, float value) {
    kernels::narrow(view_.dtype, &value, bytes() + offset(position), 1);
  }
  bool has(const Position& at) const {
    const Box& box = view_.region;
    return at.t >= box.t.begin && at.t < box.t.end && at.y >= box.y.begin && at.y < box.y.end &&
           at.x >= box.x.begin && at.x < box.x.end;
  }
  /// f(position) for every value.
  template <class F>
  void each(const F& f) const {
    const Box& box = view_.region;
    for (int32_t t = box.t.begin; t < box.t.end; ++t)
      for (int32_t y = box.y.begin; y < box.y.end; ++y)
        for (int32_t x = box.x.begin; x < box.x.end; ++x)
          for (int32_t c = 0; c < view_.channels; ++c) f(Position{t, y, x, c});
  }
  /// True if nothing was written beside the values.
  bool only_values_written() const {
    for (size_t i = 0; i < used_.size(); ++i) {
      if (!used_[i] && bytes()[i] != std::byte{kUnused}) return false;
    }
    return true;
  }

 private:
  static constexpr unsigned char kUnused = 0xff;  // a NaN of every type
  std::byte* bytes() { return memory_.data(); }
  const std::byte* bytes() const { return memory_.data(); }

  std::ptrdiff_t offset(const Position& at) const {
    const int32_t y = at.y - view_.region.y.begin, width = view_.region.x.end - view_.region.x.begin;
    const int64_t block = view_.block_units[y / view_.block_rows] * kBlockUnit;
    const int64_t row = int64_t{at.t - view_.region.t.begin} * view_.block_rows + y % view_.block_rows;
    return block + ((row * width + at.x - view_.region.x.begin) * view_.channels + at.c) *
                       bytes_per_element(view_.dtype);
  }

  View view_;
  emulated::GuardedMemory memory_;
  std::vector<bool> used_;
};

/// Largest relative error of a value that is rounded once.
inline double rounding_of(Dtype dtype) {
  return dtype == Dtype::fp32 ? 0x1p-24 : dtype == Dtype::fp16 ? 0x1p-11 : 0x1p-8;
}

/// Describes the first fault of `after`; empty if there is none. `expected` gives a position's value, or
/// nothing if the value of `before` must stay. `error` is the tolerance, relative to values of about 1 and
/// more.
template <class Expected>
std::string difference(const Map& before, const Map& after, double error, const Expected& expected) {
  std::string wrong;
  if (!after.only_values_written()) wrong = "something was written beside the values";
  after.each([&](const Position& at) {
    if (!wrong.empty()) return;
    const std::optional<double> value = expected(at);
    const double found = after.at(at);
    const double wanted = value.value_or(before.at(at));
    const double most =
        !value ? 0
        : error == 0
            ? std::abs(wanted) * (after.dtype() == Dtype::fp32 ? 0 : rounding_of(after.dtype()))
            : std::abs(wanted) * rounding_of(after.dtype()) + error * std::max(1.0, std::abs(wanted));
    const double tiny = after.dtype() == Dtype::fp16 && value ? 0x1p-25 : 0;
    if (std::abs(found - wanted) <= most + tiny) return;
    wrong = "at t " + std::to_string(at.t) + ", y " + std::to_string(at.y) + ", x " + std::to_string(at.x) +
            ", channel " + std::to_string(at.c) + ": " + std::to_string(found) + " instead of " +
            std::to_string(wanted);
  });
  return wrong;
}

/// A span of 1 … `most` positions that begins within `around` of 0.
inline Span span(Random& random, int32_t most, int32_t around = 3) {
  const auto begin = static_cast<int32_t>(random.integer(-around, around));
  return {begin, begin + static_cast<int32_t>(random.integer(1, most))};
}
inline Span part_of(Random& random, const Span& span) {
  const auto begin = static_cast<int32_t>(random.integer(span.begin, span.end - 1));
  return {begin, static_cast<int32_t>(random.integer(begin + 1, span.end))};
}
inline Box part_of(Random& random, const Box& box) {
  return {part_of(random, box.t), part_of(random, box.y), part_of(random, box.x)};
}
inline Span around(Random& random, const Span& span, int32_t most = 2) {
  return {span.begin - static_cast<int32_t>(random.integer(0, most)),
          span.end + static_cast<int32_t>(random.integer(0, most))};
}
/// A box that holds another.
inline Box around(Random& random, const Box& box) {
  return {around(random, box.t, 1), around(random, box.y), around(random, box.x)};
}
inline bool has(const Box& box, const Position& at) {
  return at.t >= box.t.begin && at.t < box.t.end && at.y >= box.y.begin && at.y < box.y.end &&
         at.x >= box.x.begin && at.x < box.x.end;
}
inline Span cut(const Span& span, int32_t size) {
  return {std::max(span.begin, 0), std::max(std::max(span.begin, 0), std::min(span.end, size))};
}

inline Dtype any_dtype(Random& random) {
  return random.pick<Dtype>({Dtype::fp32, Dtype::fp16, Dtype::bf16});
}
/// Mostly few, so that tests are quick; many now and then.
inline int32_t any_channels(Random& random) {
  if (random.chance(0.1)) return random.pick<int32_t>({520, 1030, 1152, 2100, 4608});
  return random.pick<int32_t>({1, 2, 3, 4, 5, 8, 12, 16, 17, 20, 24, 32, 40, 64, 96, 100, 128, 192});
}
/// Fewer positions where there are many channels.
inline int32_t most_columns(int32_t channels) {
  return channels > 256 ? 5 : 21;
}
inline int32_t most_rows(int32_t channels) {
  return channels > 256 ? 3 : 9;
}

/// A few frames, not always from the first on.
inline Span frames(Random& random) {
  const auto begin = static_cast<int32_t>(random.integer(0, 2));
  return {begin, begin + static_cast<int32_t>(random.integer(1, 3))};
}

/// The region of a test with this many channels.
inline Box any_box(Random& random, int32_t channels) {
  return {frames(random), span(random, most_rows(channels)), span(random, most_columns(channels))};
}

/// A picture that a box may reach out of, or not.
inline Size picture_near(Random& random, const Box& box) {
  const auto size = [&](const Span& span) {
    return static_cast<int32_t>(std::max<int64_t>(1, span.end + random.integer(-4, 2)));
  };
  return {std::max(1, box.t.end), size(box.y), size(box.x)};
}

/// The part of a box inside the picture, with a position at least along each axis.
inline Box within(const Box& box, const Size& picture) {
  const auto some = [](Span span) { return Span{span.begin, std::max(span.end, span.begin + 1)}; };
  return {some(cut(box.t, picture.t)), some(cut(box.y, picture.y)), some(cut(box.x, picture.x))};
}

inline bool in_picture(const Position& at, const Size& picture) {
  return at.y >= 0 && at.y < picture.y && at.x >= 0 && at.x < picture.x;
}

}  // namespace headroom::gpu::test
