#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/schedule/peak.h"
#include "decoder/trace/memory_kind.h"
#include "planner/cost/cost_model.h"

namespace headroom::planner {

/// One item of device memory.
struct LiveEntry {
  std::string name;  ///< full name of the tensor; title of the kind if there is no tensor
  MemoryKind kind{};
  int64_t bytes = 0;
  friend bool operator==(const LiveEntry&, const LiveEntry&) = default;
};

/// True if the entry belongs to a single tensor or to a step on one. Any other entry is the total of its
/// kind.
bool is_of_tensor(const LiveEntry& entry);

/// Merges entries of equal name and kind, drops empty ones, and sorts by size, largest first.
std::vector<LiveEntry> by_size(const std::vector<LiveEntry>& entries);

/// The memory model that the plan's peaks were computed with. Workspace depends on the number of threads,
/// which a plan does not store. If the plan is from another machine, its peaks give that number.
MemoryModel memory_model_of_plan(const Plan& plan, const Graph& graph);

/// The name of a picture that stays in memory.
constexpr const char* kPictureEntry = "picture";

/// Memory that no tensor of the plan accounts for. On the CPU: growth of the process outside the pool. On a
/// GPU: gaps in its reservation.
LiveEntry reserve_entry(int64_t bytes, const DeviceRecord& device);

/// Entries on the device before the first pass, and at one moment of a pass. Merged and sorted like
/// by_size().
std::vector<LiveEntry> live_before_passes(const Plan& plan, const Graph& graph);
std::vector<LiveEntry> live_at(const Plan& plan, const Graph& graph, size_t pass, const PassSweep& sweep,
                               const SweepPoint& point);

// Finds the pass and the step that determine a plan's peak. Explain, the report and the window all use this
// answer.

/// The moment of a plan's peak memory.
struct PlanPeak {
  size_t pass = 0;
  std::string pass_name;
  std::string step;  ///< the running step, as explain names it
  int64_t bytes = 0;
  std::vector<LiveEntry> live;  ///< largest first; their bytes add up to `bytes`
  SweepPoint point{};           ///< position in the pass, with the step's index
};

/// Index of the first pass with the largest predicted peak. 0 if no pass has one.
size_t peak_pass(const Plan& plan);

/// Device memory at the peak of peak_pass(). The plan may predict more there, because a profile's workspaces
/// are not listed in the plan. The difference counts as workspace. The plan must be valid and have a pass.
PlanPeak peak_of_plan(const Plan& plan, const Model& model);
/// peak_of_plan() by the memory model that the plan was made with.
PlanPeak peak_of_plan(const Plan& plan, const Model& model, const MemoryModel& memory);

/// Bytes of the peak by kind, largest first. Entries are named by the kind's title.
std::vector<LiveEntry> by_kind(const std::vector<LiveEntry>& live);

// Peak memory of the untiled decode. Programs, reports, the window, Python and C all use this answer.

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
