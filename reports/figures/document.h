#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/ranked_plan.h"
#include "decoder/plan/stats.h"
#include "decoder/trace/trace_file.h"
#include "planner/search/frontier.h"
#include "profiler/eager/recorded_decode.h"
#include "profiler/history/memory_history.h"
#include "profiler/profile/profile.h"

namespace headroom::reports {

/// A plan with the model that it was made for. The validator has found nothing wrong with it.
struct PlanDocument {
  Plan plan;
  Model model;
  std::string model_argument{};  ///< of open_model(): where the plan's model was found
};

struct Document;
/// Shared, since views in several threads look at one file; never changed once read.
using DocumentPtr = std::shared_ptr<const Document>;

/// A plan of several ranks. The validator has found nothing wrong with it.
struct RankedPlanDocument {
  RankedPlan shared;               ///< without its plans
  std::vector<DocumentPtr> ranks;  ///< the PlanDocument of each rank, by number
};

/// Traces of one decode by several ranks.
struct RankedTraceDocument {
  std::vector<DocumentPtr> ranks;  ///< the RecordedTrace of each rank, by number
};

/// Contents of a "headroom.frontier" file.
struct FrontierDocument {
  Request request;
  bool assumed = true;
  std::vector<planner::FrontierPoint> points;  ///< largest peak first
};

/// `origin` names the document in errors. Throws InputError naming it and the key.
FrontierDocument frontier_from_json(const nlohmann::json& document, const std::string& origin);

/// One file of any of Headroom's kinds, or what PyTorch recorded of its memory.
struct Document {
  std::filesystem::path file;
  std::variant<PlanDocument, RunStats, RecordedTrace, profiler::Profile, FrontierDocument, RankedPlanDocument,
               RankedTraceDocument, profiler::MemoryHistory, profiler::EagerRecording>
      contents;
  std::optional<size_t> rank{};  ///< where it is one rank's part of the file

  /// Null where it holds something else.
  template <typename T>
  const T* as() const {
    return std::get_if<T>(&contents);
  }
};

/// "plan", "stats", "trace", "profile", "frontier", "plan of ranks", "trace of ranks", "memory history",
/// "recorded decodes".
const char* kind_of(const Document& document);

/// Reads a file of any kind by its "schema", at most 512 MiB of a trace, 256 MiB of a plan and 64 MiB of any
/// other; and a memory snapshot of PyTorch (a pickle, less than 2 GiB), by how it begins. A plan needs its
/// model: `model` where given, else the one that find_model() finds for it. Throws InputError naming the
/// file, the field and what was expected.
DocumentPtr read_document(const std::filesystem::path& file, const std::string& model = {});

/// The ranks of a file of several, by their numbers; none of any other.
std::vector<DocumentPtr> ranks_of(const Document& document);

/// The file's name, with the rank where it is one rank's part: "trace.json, rank 2".
std::string name_of(const Document& document);

/// One line: "plan, sdxl 1024x1024 fp32, limit 1.2 GiB, peak 1.2 GiB, 31 s". A memory history is shown for
/// `recorded_device`, or for its main device if that is empty.
std::string summary(const Document& document, const std::string& recorded_device = {});

}  // namespace headroom::reports
