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
#include "decoder/plan/stats.h"
#include "decoder/trace/trace_file.h"
#include "planner/search/frontier.h"
#include "profiler/eager/recording_file.h"
#include "profiler/history/memory_history.h"
#include "profiler/profile/profile.h"

namespace headroom::reports {

/// A plan and its model. The plan has passed the validator.
struct PlanDocument {
  Plan plan;
  Model model;
  std::string model_argument{};  ///< argument of open_model() that found the plan's model
};

struct Document;
/// Shared by views in several threads. A document never changes after it was read.
using DocumentPtr = std::shared_ptr<const Document>;

/// Traces of one decode by several ranks, which are in Document::ranks.
struct TracesDocument {};

/// Contents of a "headroom.frontier" file.
struct FrontierDocument {
  Request request;
  bool assumed = true;
  std::vector<planner::FrontierPoint> points;  ///< largest peak first
};

/// `origin` names the document in errors. Throws InputError naming it and the key.
FrontierDocument frontier_from_json(const nlohmann::json& document, const std::string& origin);

/// A file of any of Headroom's kinds, or a memory recording of PyTorch.
struct Document {
  std::filesystem::path file;
  std::variant<PlanDocument, RunStats, RecordedTrace, profiler::Profile, FrontierDocument, Plans,
               TracesDocument, profiler::MemoryHistory, profiler::EagerRecording>
      contents;
  std::optional<size_t> rank{};  ///< set if the document is one rank's part of the file
  /// The parts of a file of ranks, by number. `contents` is then TracesDocument, or Plans without the list.
  std::vector<DocumentPtr> ranks{};

  /// The contents as a T, or null if the document holds another kind.
  template <typename T>
  const T* as() const {
    return std::get_if<T>(&contents);
  }
};

/// "plan", "stats", "trace", "profile", "frontier", "plan of ranks", "trace of ranks", "memory history",
/// "recorded decodes".
const char* kind_of(const Document& document);

/// Reads a file of any kind, chosen by its "schema". Also reads a memory snapshot of PyTorch (a pickle),
/// recognised by its first bytes or its name. Size limits: 2 GiB for a snapshot, 512 MiB for a trace, 256 MiB
/// for a plan, 64 MiB for others. A plan needs its model: `model`, or else the result of find_model(). Throws
/// InputError naming the file, the field and what was expected.
DocumentPtr read_document(const std::filesystem::path& file, const std::string& model = {});

/// The file's name. One rank's part also names the rank: "trace.json, rank 2".
std::string name_of(const Document& document);

/// The name of a model: "sdxl", or of a path the last folder: "demo_model", "flux/vae".
std::string model_title(const std::string& model);

/// One line: "sdxl 1024x1024 fp32, limit 1.2 GiB, peak 1.2 GiB, 31 s". A memory history is shown for
/// `recorded_device`, or for its main device if that is empty.
std::string summary(const Document& document, const std::string& recorded_device = {});

/// Identity of the decode of a plan or of a recorded run.
struct DecodeIdentity {
  Request request;
  int64_t limit_bytes = 0;
  std::vector<std::string> passes;  ///< names; empty: the run recorded no interval for the pass
};
DecodeIdentity identity_of(const PlanDocument& plan);
DecodeIdentity identity_of(const RecordedTrace& trace);

/// True if model, size, dtype, device, limit and passes agree. Only then can a prediction and a measurement
/// be compared. An unknown pass name agrees with any.
bool of_one_decode(const DecodeIdentity& a, const DecodeIdentity& b);

/// "sdxl 1024x1024 fp32, limit 1024.0 MiB, 32 passes".
std::string text_of(const DecodeIdentity& decode);

}  // namespace headroom::reports
