#include "planner/search/kept_rows.h"

#include <algorithm>

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"

namespace headroom::planner {

KeptRows::KeptRows(const Graph& graph, const PassLiveness& liveness, const Sizes& sizes)
    : graph_(graph),
      sizes_(sizes),
      whole_(graph.tensors().size(), false),
      around_(graph.tensors().size(), 0) {
  // Tensors are in topological order, so this visits readers first.
  for (size_t t = graph.tensors().size(); t-- > 0;) {
    const TensorId id{static_cast<int32_t>(t)};
    if (graph.tensor(id).statistics) continue;
    for (OpId reader : graph.readers(id)) {
      const Op& op = graph.op(reader);
      if (graph.tensor(op.output).statistics) continue;
      const bool read_kept = liveness.may_be_kept(op.output) && !is_kept_for_barriers_only(graph, op.output);
      const int64_t behind = read_kept ? 0 : around_[index(op.output)];
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (op.inputs[i] != id) continue;
        if (is_barrier(op, i)) {
          whole_[t] = true;
        } else {
          around_[t] = std::max(around_[t], ceil_divide(behind, op.factor.y) * op.stride.y +
                                                int64_t{std::max(reach(op).before.y, reach(op).after.y)});
        }
      }
    }
  }
}

std::optional<Interval> KeptRows::of(TensorId id) const {
  if (!sizes_.latent_rows) return {};
  const Interval all{0, extent_of(graph_.tensor(id), sizes_.latent).y};
  const Interval own = own_rows(sizes_, graph_.tensor(id).scale.y);
  if (whole_[index(id)]) return all;
  return intersect({own.begin - around_[index(id)], own.end + around_[index(id)]}, all);
}

int64_t KeptRows::awaited_bytes(TensorId id) const {
  if (!sizes_.latent_rows) return 0;
  const Interval own = own_rows(sizes_, graph_.tensor(id).scale.y), stored = *of(id);
  const int64_t rows = whole_[index(id)] ? stored.length() - own.length()
                                         : std::max(own.begin - stored.begin, stored.end - own.end);
  return rows * row_bytes(graph_, id, sizes_) * sizes_.items;
}

}  // namespace headroom::planner
