#include "decoder/plan/plan_file.h"

namespace headroom {
namespace {

constexpr int64_t kMostFileBytes = int64_t{256} << 20;
/// Containers deeper than this stand on one line: a step, a list of intervals, a block range.
constexpr int kDeepestExpanded = 3;

void append_text(const nlohmann::json& value, int depth, std::string& out) {
  if (!value.is_structured() || value.empty() || depth > kDeepestExpanded) {
    out += value.dump();
    return;
  }
  const std::string indent(static_cast<size_t>(depth) + 1, ' ');
  out += value.is_object() ? '{' : '[';
  const char* separator = "\n";
  for (const auto& item : value.items()) {
    out += separator + indent;
    if (value.is_object()) out += nlohmann::json(item.key()).dump() + ": ";
    append_text(item.value(), depth + 1, out);
    separator = ",\n";
  }
  out += '\n' + indent.substr(1) + (value.is_object() ? '}' : ']');
}

}  // namespace

PlanFile::PlanFile(const std::filesystem::path& file)
    : origin_(file.string()),
      json_(read_json_file(file, kMostFileBytes)),
      request_(read_request(JsonFields(json_, origin_))) {}

Plan PlanFile::plan(const Graph& graph) const {
  return plan_from_json(JsonFields(json_, origin_), graph);
}

Plan read_plan(const std::filesystem::path& file, const Graph& graph) {
  return PlanFile(file).plan(graph);
}

void write_plan(const std::filesystem::path& file, const Plan& plan, const Graph& graph) {
  std::string text;
  append_text(to_json(plan, graph), 0, text);
  write_file_whole(file, text + '\n');
}

}  // namespace headroom
