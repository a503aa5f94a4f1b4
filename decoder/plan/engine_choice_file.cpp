#include "decoder/plan/engine_choice_file.h"

#include <nlohmann/json.hpp>
#include <set>

namespace headroom {
namespace {

constexpr size_t kMostChoices = 10'000;
constexpr size_t kMostTextBytes = 1000;

std::string text_of(const JsonFields& field) {
  std::string text = field.text();
  if (text.empty() || text.size() > kMostTextBytes) field.fail("expected a text of 1 to 1000 bytes");
  return text;
}

}  // namespace

nlohmann::json to_json(const std::vector<EngineChoice>& choices) {
  nlohmann::json list = nlohmann::json::array();
  for (const EngineChoice& choice : choices) {
    list.push_back({{"problem", choice.problem},
                    {"engine", choice.engine},
                    {"seconds", choice.seconds},
                    {"first_engine", choice.first_engine},
                    {"first_seconds", choice.first_seconds}});
  }
  return list;
}

std::vector<EngineChoice> engine_choices_of(const JsonFields& file) {
  std::vector<EngineChoice> choices;
  if (!file.has("engines")) return choices;
  const JsonFields list = file["engines"];
  std::set<std::string> problems;
  for (size_t i = 0; i < list.size(kMostChoices); ++i) {
    const JsonFields entry = list[i];
    choices.push_back({text_of(entry["problem"]), text_of(entry["engine"]), entry["seconds"].amount(),
                       text_of(entry["first_engine"]), entry["first_seconds"].amount()});
    if (!problems.insert(choices.back().problem).second)
      entry["problem"].fail("expected each convolution once, found it in an earlier entry too");
  }
  return choices;
}

}  // namespace headroom
