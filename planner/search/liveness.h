#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/plan/sizes.h"
#include "decoder/schedule/lowering.h"

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

/// Dataflow of a graph's passes: the tensors that each pass can store, reads and depends on. Knows no costs.
/// The functions use these words:
///
///     present    the kept tensors in memory when a pass begins
///     available  what the pass can read whole: `present`, and the statistics that earlier passes measured
///     kept       kept tensors at the moment in question. Before the pass: `present`. After it: also the
///                tensors that the pass keeps
///     needed     the tensors that the pass reads or computes (needed_by())
///     reached    the tensors that later passes read or recompute (read_after())
///
/// The input of the graph is always on the device. Sets of kept tensors may omit it.
class PassLiveness {
 public:
  PassLiveness(const Graph& graph, const Sizes& sizes);

  size_t passes() const { return targets_.size(); }
  const BarrierTargets& targets(size_t pass) const { return targets_[pass]; }
  /// Contribution of `pass` to the lower bound on work: operations that every plan still has to run when it
  /// reaches the pass, beyond those of later passes. An operation that several passes can run belongs to the
  /// first of them.
  const std::vector<OpId>& own_operations(size_t pass) const { return own_operations_[pass]; }

  /// True if some pass may store the tensor.
  bool may_be_kept(TensorId id) const { return is_candidate_.contains(id) || is_always_kept_.contains(id); }
  /// Tensors that the pass computes whole in every plan, for its barriers, and that later passes read.
  /// Excludes results of adds, because the pass may accumulate them in place.
  std::vector<TensorId> read_by_later_passes(size_t pass) const;

  TensorSet set_of(const std::vector<TensorId>& tensors) const;
  /// Input of lower_pass(): `present`, and the statistics that earlier passes have measured.
  std::vector<bool> available(size_t pass, const std::vector<TensorId>& present) const;
  /// Tensors that the pass may keep but need not.
  std::vector<TensorId> creatable(size_t pass, const std::vector<TensorId>& present) const;
  /// All tensors that passes after `pass` read or recompute. Kept tensors are not recomputed.
  TensorSet read_after(size_t pass, const TensorSet& kept) const;
  /// The frontier after the pass: the kept tensors among `reached`. Nothing else affects the remaining work.
  /// May include the latent.
  std::vector<TensorId> kept_of(const TensorSet& reached, const TensorSet& kept) const;
  /// Tensors that the pass reads or computes to keep `keeps`, without recomputing tensors of `kept`. Includes
  /// sums and statistics.
  TensorSet needed_by(size_t pass, const std::vector<TensorId>& keeps, const TensorSet& kept) const;
  /// Kept tensors among `needed`, sorted. Excludes the latent.
  std::vector<TensorId> read_of(const TensorSet& needed, const TensorSet& kept) const;
  /// Operations that compute the tensors of `needed` that are not kept. Excludes statistics.
  std::vector<OpId> run_for(const TensorSet& needed, const TensorSet& kept) const;
  /// True if a later pass would recompute a candidate across more barriers than the planner allows.
  bool too_far_back(size_t pass, const TensorSet& reached, const TensorSet& kept) const;
  /// Operations of passes up to `pass` whose results are read later but not kept. Some later pass must rerun
  /// them, in addition to own_operations() of later passes.
  std::vector<OpId> again(size_t pass, const TensorSet& reached, const TensorSet& kept) const;

 private:
  void find_candidates(const Sizes& sizes);
  /// True if a tensor is never kept: it is cheap to recompute pointwise from an input that is no larger.
  bool is_recomputed(TensorId id, const std::vector<int64_t>& bytes) const;
  /// True if keeping another tensor serves deeper passes as well. That tensor is computed from this one in
  /// the same pass, is no larger, and all reads by deeper passes go through it.
  bool stands_behind_another(TensorId id, const std::vector<int64_t>& bytes) const;
  /// True if a deeper pass reads `id`, directly or through tensors other than `around`.
  bool read_deeper_around(TensorId id, TensorId around) const;
  void find_last_reads();
  void find_demands();
  void find_own_operations();
  void find_masks();
  /// Adds to `reached` the inputs of its members before `end`, transitively. Stops at kept tensors.
  void walk_back(TensorSet& reached, TensorId end, const TensorSet& kept) const;
  void insert_inputs(TensorSet& reached, const Op& op) const;

  const Graph& graph_;
  std::vector<BarrierTargets> targets_;
  std::vector<int32_t> tensor_depths_;
  std::vector<int32_t> pass_depths_;
  std::vector<TensorId> candidates_;  ///< tensors that may be kept
  TensorSet is_candidate_, is_always_kept_, statistics_;
  /// By tensor: depth of the deepest reader, direct or through tensors that are never kept.
  std::vector<int32_t> last_read_;
  std::vector<std::vector<OpId>> own_operations_;
  // By pass:
  std::vector<TensorSet> goals_;             ///< tensors that the pass must compute whole in every plan
  std::vector<std::vector<bool>> measured_;  ///< by tensor: statistics that earlier passes have measured
  std::vector<TensorSet> demands_;  ///< tensors that deeper passes read directly in every plan, since results
                                    ///< of deeper passes cannot be kept yet
  std::vector<TensorId> end_;       ///< one past the last tensor of this pass and all earlier ones
  std::vector<TensorSet> own_later_;             ///< results of own operations of later passes
  std::vector<TensorSet> far_back_;              ///< candidates that the next pass may not recompute any more
  std::vector<std::vector<TensorId>> in_reach_;  ///< candidates that the pass may keep
};

/// Rows of each tensor that one of several ranks stores if the tensor is kept. Computed before a plan decides
/// which tensors are kept. The rows are the rank's own rows plus a halo. The halo covers all operations up to
/// the next tensors that may be kept. Keys and values are read whole, so all their rows are stored. A pass
/// that recomputes across tensors that were not kept reads more rows.
class KeptRows {
 public:
  KeptRows(const Graph& graph, const PassLiveness& liveness, const Sizes& sizes);

  /// Same meaning as KeptTensor::rows. Unset with a single rank, which stores all rows.
  std::optional<Interval> of(TensorId id) const;
  /// Bytes that a rank waits for before its next pass begins, for all items. They are the halo rows above its
  /// own rows. If the tensor is read whole, they are the rows of all other ranks. Rows below arrive while the
  /// earlier bands compute. The first rank has nobody above, so its rows below count instead.
  int64_t awaited_bytes(TensorId id) const;

 private:
  const Graph& graph_;
  const Sizes sizes_;
  std::vector<bool> whole_;      ///< by tensor
  std::vector<int64_t> around_;  ///< by tensor: rows on either side
};

}  // namespace headroom::planner
