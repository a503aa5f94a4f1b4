#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "planner/cost/cost_model.h"

// Peak memory of the decode without tiles: one answer for programs, reports, the window, Python and C.
namespace headroom::planner {

struct UntiledTensor {
  std::string name;  ///< of the tensor, or what it is: weights, workspace, frames kept for a layer
  int64_t bytes = 0;
};

struct UntiledPeak {
  int64_t bytes = 0;  ///< weights included
  /// True if this is the memory of diffusers' code on LibTorch (profiler/eager). False if that code is not
  /// known: then the bytes are those of Headroom's decode with one tile per pass, a rough estimate.
  bool by_diffusers = false;
  std::string layer{};                ///< that runs then; with its full name; empty where not by diffusers
  std::vector<UntiledTensor> live{};  ///< what is held then, largest first; they add up to `bytes`
};

/// Takes microseconds where diffusers' code is known. What LibTorch's process takes beside its allocator
/// (code, compiled kernels, threads' stacks, freed pieces of the heap) is not in it.
UntiledPeak untiled_peak(const Model& model, const Request& request, const CostModel& costs);

/// `peak_bytes`, `by_diffusers`, and of diffusers' `layer` and `live[]` with `name` and `bytes`.
nlohmann::json to_json(const UntiledPeak& untiled);

/// Why a plan in 16 bits takes more than the untiled decode; empty where it does not.
std::string above_untiled_remark(const Plan& plan, const Model& model);

/// "untiled, by diffusers: 1150.9 MiB at up2.upsample0.conv".
std::string untiled_line(const UntiledPeak& untiled);

}  // namespace headroom::planner
