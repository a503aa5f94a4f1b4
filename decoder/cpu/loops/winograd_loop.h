#pragma once

#include "decoder/cpu/loops/lanes.h"
#include "decoder/cpu/loops/loops.h"

// The transforms of blocks, as many channels at a time as a register holds. Included by loops.cpp alone.
namespace headroom::kernels {
namespace {

struct Plain {
  static constexpr WinogradShape kShape = kWinogradPlain;
  static constexpr float kA = 0.625f, kB = 1.5f;  // the points, with their powers all exact
  static constexpr float kA2 = kA * kA, kB2 = kB * kB, kA2B2 = kA2 * kB2, kSum = kA2 + kB2;

  static void in(const Lanes* x, Lanes* y) {
    y[0] = kA2B2 * x[0] - kSum * x[2] + x[4];
    const Lanes even_a = x[4] - kB2 * x[2], odd_a = kA * (x[3] - kB2 * x[1]);
    const Lanes even_b = x[4] - kA2 * x[2], odd_b = kB * (x[3] - kA2 * x[1]);
    y[1] = even_a + odd_a;
    y[2] = even_a - odd_a;
    y[3] = even_b + odd_b;
    y[4] = even_b - odd_b;
    y[5] = kA2B2 * x[1] - kSum * x[3] + x[5];
  }

  static void out(const Lanes* m, Lanes* y) {
    const Lanes sum_a = m[1] + m[2], difference_a = m[1] - m[2];
    const Lanes sum_b = m[3] + m[4], difference_b = m[3] - m[4];
    y[0] = m[0] + sum_a + sum_b;
    y[1] = kA * difference_a + kB * difference_b;
    y[2] = kA2 * sum_a + kB2 * sum_b;
    y[3] = (kA2 * kA) * difference_a + (kB2 * kB) * difference_b + m[5];
  }
};

struct Upsampled {
  static constexpr WinogradShape kShape = kWinogradUpsampled;

  static void in(const Lanes* x, Lanes* y) {
    for (int phase = 0; phase < 2; ++phase) {
      const Lanes* d = x + phase;
      Lanes* to = y + 4 * phase;
      to[0] = d[0] - d[2];
      to[1] = d[1] + d[2];
      to[2] = d[2] - d[1];
      to[3] = d[3] - d[1];
    }
  }

  static void out(const Lanes* m, Lanes* y) {
    for (int phase = 0; phase < 2; ++phase) {
      const Lanes* from = m + 4 * phase;
      y[phase] = from[0] + from[1] + from[2];
      y[phase + 2] = from[1] - from[2];
      y[phase + 4] = from[1] + from[2] + from[3];
    }
  }
};

/// True if a block's window is complete and its channels fill whole registers.
template <class Block>
bool is_whole(const Block& block, int64_t length) {
  bool whole = block.first_column == 0 && block.end_column == length && block.channels % kLanes == 0;
  for (int64_t i = 0; i < length; ++i) whole = whole && block.rows[i] != nullptr;
  return whole;
}

template <class Algorithm, bool kWhole>
void transform_in(const WinogradInput& block) {
  constexpr WinogradShape shape = Algorithm::kShape;
  for (int64_t c = 0; c < block.channels; c += kLanes) {
    const int64_t count = kWhole ? kLanes : block.channels - c;
    Lanes half[shape.products][shape.in];
    for (int64_t j = 0; j < shape.in; ++j) {
      Lanes column[shape.in], transformed[shape.products];
      for (int64_t i = 0; i < shape.in; ++i) {
        const bool there =
            kWhole || (block.rows[i] != nullptr && j >= block.first_column && j < block.end_column);
        column[i] =
            there ? load_part(block.rows[i] + (j - block.first_column) * block.channels + c, count) : Lanes{};
      }
      Algorithm::in(column, transformed);
      for (int64_t i = 0; i < shape.products; ++i) half[i][j] = transformed[i];
    }
    float* to = block.transformed + c;
    for (int64_t i = 0; i < shape.products; ++i) {
      Lanes transformed[shape.products];
      Algorithm::in(half[i], transformed);
      for (int64_t j = 0; j < shape.products; ++j, to += block.product_distance) store(to, transformed[j]);
    }
  }
}

template <class Algorithm>
void winograd_in(const WinogradInput& block) {
  constexpr WinogradShape shape = Algorithm::kShape;
  is_whole(block, shape.in) ? transform_in<Algorithm, true>(block) : transform_in<Algorithm, false>(block);
}

template <class Algorithm, bool kWhole>
void transform_out(const WinogradOutput& block) {
  constexpr WinogradShape shape = Algorithm::kShape;
  for (int64_t c = 0; c < block.channels; c += kLanes) {
    const int64_t count = kWhole ? kLanes : block.channels - c;
    const Lanes bias = load_part(block.bias + c, count);
    Lanes half[shape.out][shape.products];
    for (int64_t j = 0; j < shape.products; ++j) {
      Lanes column[shape.products], transformed[shape.out];
      for (int64_t i = 0; i < shape.products; ++i)
        column[i] = load(block.products + (i * shape.products + j) * block.product_distance + c);
      Algorithm::out(column, transformed);
      for (int64_t i = 0; i < shape.out; ++i) half[i][j] = transformed[i];
    }
    for (int64_t i = 0; i < shape.out; ++i) {
      if (!kWhole && block.rows[i] == nullptr) continue;
      Lanes transformed[shape.out];
      Algorithm::out(half[i], transformed);
      const int64_t first = kWhole ? 0 : block.first_column, end = kWhole ? shape.out : block.end_column;
      for (int64_t j = first; j < end; ++j) {
        float* to = block.rows[i] + (j - first) * block.channels + c;
        store_part(to, transformed[j] + bias, count);
      }
    }
  }
}

template <class Algorithm>
void winograd_out(const WinogradOutput& block) {
  constexpr WinogradShape shape = Algorithm::kShape;
  is_whole(block, shape.out) ? transform_out<Algorithm, true>(block) : transform_out<Algorithm, false>(block);
}

}  // namespace
}  // namespace headroom::kernels
