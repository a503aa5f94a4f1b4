#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/json_fields.h"
#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// Versions of "headroom.plan": a single plan, and the plans of a group of ranks with their transfers.
constexpr int64_t kPlanVersion = 4, kGroupVersion = 6;
/// A file with more transfers is rejected. All ranks send keys and values to all others: two transfers for
/// each pair of ranks.
constexpr size_t kMostTransfers = 1'000'000;

/// A plan as a JSON document (docs/formats.md). Tensors and operations are written by name, so `graph` must
/// be the plan's own. Throws std::out_of_range if an id is not in the graph.
nlohmann::json to_json(const Plan& plan, const Graph& graph);
/// A plan outside a group of ranks is written like the plan itself.
nlohmann::json to_json(const Plans& plans, const Graph& graph);

/// A request as plans and frontiers store it.
nlohmann::json to_json(const Request& request);

/// An array [begin, end] of integers from 0 to `most`, in either order. Throws InputError naming the file and
/// the key.
Interval read_interval(const JsonFields& fields, int64_t most);

/// Checks schema and version, then reads the request. Needs no model: programs read the request first and
/// resolve the model that it names. Then they read the plan with that model's graph.
Request read_request(const JsonFields& file);
/// Reads a request that to_json() wrote. Throws InputError naming the key.
Request request_from_json(const JsonFields& fields);
/// The value of `direction`. Files of decodes have no such field.
Direction direction_from_json(const JsonFields& fields);
/// The value of `tf32`. Files of full fp32 or of 16 bits have no such field.
Tf32 tf32_from_json(const JsonFields& fields);

/// Reads the whole plan. Checks the range of every number and looks up every name in `graph`. The validator
/// checks whether the plan is correct. Throws InputError naming the file and the key.
Plan plan_from_json(const JsonFields& file, const Graph& graph);
/// Like plan_from_json(), but takes files of ranks too. A rank's index in the list is its number.
Plans plans_from_json(const JsonFields& file, const Graph& graph);
/// True if a file of the schema "headroom.plan" has the plans of a group of ranks.
bool has_ranks(const JsonFields& file);

/// A plan's model was not found, or the given model is another one.
class ModelOfPlan : public InputError {
 public:
  ModelOfPlan(const std::string& message, std::string model_name)
      : InputError(message), model(std::move(model_name)) {}
  std::string model;  ///< as the plan names it
};

/// A plan file that has been parsed once: the request comes first, the plan when the graph is known.
class PlanFile {
 public:
  /// Reads at most 256 MiB. Throws InputError naming the file, and the key if one is wrong.
  explicit PlanFile(const std::filesystem::path& file);
  const Request& request() const { return request_; }
  /// True if the file has the plans of a group of ranks.
  bool has_ranks() const;
  /// Both throw InputError naming the file and the key, and ModelOfPlan if the plan has names that `graph`
  /// lacks. plan() rejects files of ranks.
  Plan plan(const Graph& graph) const;
  Plans plans(const Graph& graph) const;

 private:
  std::string origin_;
  std::shared_ptr<const nlohmann::json> json_;
  Request request_;
};

/// PlanFile(file).plan(graph), for callers that already have the graph.
Plan read_plan(const std::filesystem::path& file, const Graph& graph);

/// Write the file whole or not at all, one step and one transfer to a line. Throw DeviceError.
void write_plan(const std::filesystem::path& file, const Plan& plan, const Graph& graph);
void write_plans(const std::filesystem::path& file, const Plans& plans, const Graph& graph);
/// The text that write_plan() writes.
std::string plan_text(const Plan& plan, const Graph& graph);

}  // namespace headroom
