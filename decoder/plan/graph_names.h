#pragma once

#include <string>
#include <unordered_map>

#include "decoder/base/errors.h"
#include "decoder/base/json_fields.h"
#include "decoder/base/text.h"
#include "decoder/graph/graph.h"
#include "decoder/plan/plan_file.h"

namespace headroom {

/// A file has a name that the graph lacks.
class UnknownName : public InputError {
 public:
  using InputError::InputError;
};

/// Finds a graph's tensors and operations by their names in files.
class GraphNames {
 public:
  explicit GraphNames(const Graph& graph);
  /// Both throw UnknownName naming the file and the key if the graph does not have the name.
  TensorId tensor(const JsonFields& fields) const;
  OpId op(const JsonFields& fields) const;

 private:
  std::unordered_map<std::string, TensorId> tensors_;
  std::unordered_map<std::string, OpId> ops_;
};

/// Runs `read`, which parses plans for the model named `model`. A name that the graph lacks shows that the
/// plan belongs to another model. The function then throws ModelOfPlan.
template <typename Read>
auto of_own_model(const std::string& model, const Read& read) {
  try {
    return read();
  } catch (const UnknownName& unknown) {
    throw ModelOfPlan(std::string(unknown.what()) + "; the plan is for the model \"" + printable(model) +
                          "\": name that one with --model DIR",
                      model);
  }
}

}  // namespace headroom
