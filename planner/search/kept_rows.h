#pragma once

#include <optional>
#include <vector>

#include "planner/search/liveness.h"

namespace headroom::planner {

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
