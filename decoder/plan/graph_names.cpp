#include "decoder/plan/graph_names.h"

#include <nlohmann/json.hpp>

namespace headroom {
namespace {

template <typename Id>
Id find_id(const std::unordered_map<std::string, Id>& names, const JsonFields& fields, const char* what) {
  const auto found = names.find(fields.text());
  // dump() escapes control characters in a hostile name, so the message stays on one line.
  if (found == names.end()) {
    throw UnknownName(fields.message(std::string("expected the name of ") + what + " of this model, found " +
                                     fields.value().dump().substr(0, 80)));
  }
  return found->second;
}

}  // namespace

GraphNames::GraphNames(const Graph& graph) {
  for (size_t i = 0; i < graph.tensors().size(); ++i)
    tensors_.emplace(graph.tensors()[i].name, TensorId{static_cast<int32_t>(i)});
  for (size_t i = 0; i < graph.ops().size(); ++i)
    ops_.emplace(graph.ops()[i].name, OpId{static_cast<int32_t>(i)});
}

TensorId GraphNames::tensor(const JsonFields& fields) const {
  return find_id(tensors_, fields, "a tensor");
}

OpId GraphNames::op(const JsonFields& fields) const {
  return find_id(ops_, fields, "an operation");
}

}  // namespace headroom
