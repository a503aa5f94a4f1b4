#pragma once

#include <array>
#include <vector>

#include "decoder/lowering/memory.h"
#include "decoder/plan/plan.h"
#include "profiler/profile/profile.h"

namespace headroom {

/// The laws of a profile, found by what a plan runs. Nothing is looked up by name once it is made.
class LawTable {
 public:
  LawTable(const Graph& graph, const Profile& profile);

  /// True where every step that a plan of this graph can have has its law.
  bool complete() const { return complete_; }
  /// The law of an operation carried out on a tile, in a form that the device has. It must be there.
  const Law& of(OpId op, ConvolutionForm form) const {
    return laws_[static_cast<size_t>(of_op_[static_cast<size_t>(form)][index(op)])];
  }
  /// The law of a step, sums onto what is kept and moves included.
  const Law& of(const Step& step, ConvolutionForm form) const;
  /// Seconds of one step over all tiles of its pass: every tile at its own extent, clipped at the picture's
  /// edges.
  double step_seconds(const Graph& graph, const Pass& pass, const Step& step, const Extent& tile,
                      const Sizes& sizes) const;
  /// What computing an operation's output once takes at the least, however it is tiled.
  double least_seconds(const Graph& graph, OpId op, const Sizes& sizes) const;

 private:
  std::vector<Law> laws_;
  std::array<std::vector<int32_t>, 2> of_op_;   // by form of convolutions that the device has, and operation
  std::vector<int32_t> accumulate_;             // by operation; -1 where there is none
  std::vector<int32_t> gather_, store_, emit_;  // by tensor
  bool complete_ = true;
};

}  // namespace headroom
