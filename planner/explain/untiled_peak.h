#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "planner/cost/cost_model.h"

// Peak memory of the untiled decode. Programs, reports, the window, Python and C all use this answer.
namespace headroom::planner {

struct UntiledTensor {
  std::string name;  ///< name of the tensor, or a description: weights, workspace, frames kept for a layer
  int64_t bytes = 0;
};

struct UntiledPeak {
  int64_t bytes = 0;  ///< weights included
  /// True if this is the memory of diffusers' code on LibTorch (profiler/eager). False if that code is not
  /// known: then the bytes are those of Headroom's decode with one tile per pass, a rough estimate.
  bool by_diffusers = false;
  std::string layer{};  ///< layer that runs at the peak, with its full name; empty unless by_diffusers
  std::vector<UntiledTensor> live{};  ///< memory at the peak, largest first; adds up to `bytes`
};

/// Computes the peak of the untiled decode. This takes microseconds if diffusers' code is known. Memory of
/// LibTorch's process outside its allocator is not included: code, compiled kernels, thread stacks, and heap
/// fragmentation.
UntiledPeak untiled_peak(const Model& model, const Request& request, const CostModel& costs);

/// `peak_bytes` and `by_diffusers`. If diffusers' code is known, also `layer` and `live[]` with `name` and
/// `bytes`.
nlohmann::json to_json(const UntiledPeak& untiled);

/// Explains why a plan in 16 bits takes more than the untiled decode. Empty if it does not.
std::string above_untiled_remark(const Plan& plan, const Model& model);

/// "untiled, by diffusers: 1150.9 MiB at up2.upsample0.conv".
std::string untiled_line(const UntiledPeak& untiled);

}  // namespace headroom::planner
