#pragma once

#include <optional>
#include <vector>

#include "planner/search/liveness.h"

namespace headroom::planner {

/// Rows of each tensor that one of several ranks would store, were it kept, before it is known what
/// reads it: its own, and of others' as many as operations read from there to what may be kept next.
/// Keys and values are read whole. A pass that recomputes across what was not kept reads more.
class KeptRows {
 public:
  KeptRows(const Graph& graph, const PassLiveness& liveness, const Sizes& sizes);

  /// As KeptTensor::rows has them: nothing where there is one rank, which stores all.
  std::optional<Interval> of(TensorId id) const;
  /// Bytes of all items that a rank waits for before its next pass begins: rows above its own, or all others
  /// where they are read whole. Rows below come while the bands before the last compute. A first rank, which
  /// has nobody above, stands for one that has: as many rows as lie below.
  int64_t awaited_bytes(TensorId id) const;

 private:
  const Graph& graph_;
  const Sizes sizes_;
  std::vector<bool> whole_;      ///< by tensor
  std::vector<int64_t> around_;  ///< by tensor: rows on either side
};

}  // namespace headroom::planner
