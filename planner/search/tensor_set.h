#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "decoder/graph/graph.h"

namespace headroom::planner {

/// Set of tensors of one graph, as a bitmap. The planner iterates over such sets thousands of times.
class TensorSet {
 public:
  explicit TensorSet(size_t tensors) : words_((tensors + kBits - 1) / kBits) {}

  bool contains(TensorId id) const { return words_[index(id) / kBits] >> index(id) % kBits & 1; }
  void insert(TensorId id) { words_[index(id) / kBits] |= uint64_t{1} << index(id) % kBits; }
  void erase(TensorId id) { words_[index(id) / kBits] &= ~(uint64_t{1} << index(id) % kBits); }

  TensorSet& operator|=(const TensorSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }
  TensorSet& operator&=(const TensorSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= other.words_[i];
    return *this;
  }
  TensorSet& operator-=(const TensorSet& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] &= ~other.words_[i];
    return *this;
  }
  bool empty() const {
    return std::all_of(words_.begin(), words_.end(), [](uint64_t word) { return word == 0; });
  }

  /// The last member before `end`, or -1. A loop over last_before() also visits members inserted before the
  /// current one, so it can walk from results back to their inputs.
  TensorId last_before(TensorId end) const {
    size_t word = index(end) / kBits;
    if (word >= words_.size()) return members_of(words_.size() - 1, ~uint64_t{0});
    return members_of(word, (uint64_t{1} << index(end) % kBits) - 1);
  }
  /// In ascending order.
  std::vector<TensorId> members() const {
    std::vector<TensorId> list;
    for (size_t i = 0; i < words_.size(); ++i) {
      for (uint64_t left = words_[i]; left != 0; left &= left - 1) {
        list.push_back(TensorId{static_cast<int32_t>(i * kBits) + std::countr_zero(left)});
      }
    }
    return list;
  }

 private:
  static constexpr size_t kBits = 64;

  /// The last member in this word (masked by `mask`) or in an earlier word; -1 if there is none.
  TensorId members_of(size_t word, uint64_t mask) const {
    for (uint64_t left = words_[word] & mask;; left = words_[--word]) {
      if (left != 0) return TensorId{static_cast<int32_t>(word * kBits + kBits) - 1 - std::countl_zero(left)};
      if (word == 0) return TensorId{-1};
    }
  }

  std::vector<uint64_t> words_;
};

}  // namespace headroom::planner
