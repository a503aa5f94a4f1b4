#pragma once

#include <functional>
#include <memory>
#include <string>

#include "decoder/graph/graph.h"
#include "decoder/plan/convolution.h"

namespace headroom {

/// A call that can be repeated, ready to run, and the bytes that its result takes.
struct Call {
  std::function<void()> run;
  int64_t result_bytes = 0;
};

/// A tensor that is kept, in this dtype, as sweeps meet it: each view of it lies after the one before, round
/// and round, so far apart that caches do not hold it.
class Store;
std::shared_ptr<Store> make_store(Dtype dtype);

/// An operation on a tile of these extents, in memory of the current pool; of attention, its queries and
/// keys.
Call operation_call(const Graph& graph, const Op& op, ConvolutionForm form,
                    const std::shared_ptr<Store>& store, int64_t rows, int64_t columns);
/// A step that moves pixels between tiles and what is kept: "gather", "store", "accumulate" or "emit".
Call moving_call(const std::string& step, int64_t channels, const std::shared_ptr<Store>& store, int64_t rows,
                 int64_t columns);

}  // namespace headroom
