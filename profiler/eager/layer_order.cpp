#include "profiler/eager/layer_order.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>

namespace headroom::profiler {
namespace {

const std::string kShortcut = ".conv_shortcut";
const std::string kBlockShortcut = ".avg_shortcut";

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_number(const std::string& component) {
  return !component.empty() && std::all_of(component.begin(), component.end(),
                                           [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::vector<std::string> components(const std::string& name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// Modules called on the path to this operation. A module list is not called itself. Sequences are; their
/// names are numbers or `resample`.
std::vector<std::string> called_modules(const std::string& name) {
  const std::vector<std::string> parts = components(name);
  std::vector<std::string> modules;
  std::string path;
  for (size_t i = 0; i < parts.size(); ++i) {
    path += (i > 0 ? "." : "") + parts[i];
    const bool list = i + 1 < parts.size() && is_number(parts[i + 1]) && !is_number(parts[i]);
    if (!list || parts[i] == "resample") modules.push_back(path);
  }
  return modules;
}

struct Module {
  std::set<TensorId> called_with;
  std::set<TensorId> made;
  size_t last = 0;
};

}  // namespace

std::vector<OpId> eager_order(const Graph& graph, bool shortcut_first) {
  std::vector<OpId> order;
  for (size_t i = 0; i < graph.ops().size(); ++i) order.push_back(OpId{static_cast<int32_t>(i)});
  if (!shortcut_first) return order;
  for (size_t i = 0; i < order.size(); ++i) {
    const std::string& name = graph.op(order[i]).name;
    if (!ends_with(name, kShortcut)) continue;
    const std::string block = name.substr(0, name.size() - kShortcut.size()) + ".";
    const auto begin = std::find_if(order.begin(), order.end(), [&](OpId id) {
      return graph.op(id).name.compare(0, block.size(), block) == 0;
    });
    const auto own = order.begin() + static_cast<std::ptrdiff_t>(i);
    std::rotate(begin, own, own + 1);
  }
  return order;
}

std::vector<size_t> held_until(const Graph& graph, const std::vector<OpId>& order) {
  std::vector<size_t> until(graph.tensors().size(), 0);
  std::map<std::string, Module> modules;
  for (size_t i = 0; i < order.size(); ++i) {
    const Op& op = graph.op(order[i]);
    until[index(op.output)] = std::max(until[index(op.output)], i);
    // diffusers attends to keys and values of their own, which the queries' operation makes. So it drops the
    // normed tensor after that operation.
    const bool one_tensor = op.kind == OpKind::attention && op.inputs[1] == op.inputs[2];
    for (size_t k = 0; k < (one_tensor ? 1 : op.inputs.size()); ++k)
      until[index(op.inputs[k])] = std::max(until[index(op.inputs[k])], i);
    for (const std::string& path : called_modules(op.name)) {
      Module& module = modules[path];
      if (module.made.empty()) module.called_with.insert(op.inputs[0]);
      module.made.insert(op.output);
      module.last = i;
    }
  }
  for (const auto& [path, module] : modules) {
    for (TensorId input : module.called_with)
      until[index(input)] = std::max(until[index(input)], module.last);
  }
  until[index(graph.output())] = order.size();
  return until;
}

std::vector<CopiedInput> copied_inputs(const Graph& graph, const std::vector<OpId>& order) {
  const auto with_shortcut = std::find_if(graph.ops().begin(), graph.ops().end(),
                                          [](const Op& op) { return ends_with(op.name, kBlockShortcut); });
  if (with_shortcut == graph.ops().end()) return {};
  const std::string block = with_shortcut->name.substr(0, with_shortcut->name.size() - kBlockShortcut.size());
  const std::string list = block.substr(0, block.rfind('.') + 1);  // "decoder.up_blocks."
  std::map<std::string, CopiedInput> copies;
  for (size_t i = 0; i < order.size(); ++i) {
    const Op& op = graph.op(order[i]);
    if (op.name.compare(0, list.size(), list) != 0) continue;
    const std::string number = components(op.name.substr(list.size())).front();
    const auto [copy, is_new] = copies.try_emplace(number, CopiedInput{op.inputs[0], i, i});
    copy->second.last = i;
  }
  std::vector<CopiedInput> found;
  for (const auto& [number, copy] : copies) found.push_back(copy);
  return found;
}

}  // namespace headroom::profiler
