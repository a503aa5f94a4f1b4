// Prints as JSON which engines of cuDNN the decodes of these models take on the cards of cards.h. For
// reports/bench/cudnn_engines.py.
#include <cudnn.h>

#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tests/decoder/gpu/cuda/engines/engine_survey.h"
#include "tests/decoder/gpu/cuda/engines/surveyed_decodes.h"

namespace headroom::test {
namespace {

using nlohmann::json;

const char* name_of(LeftFor why) {
  switch (why) {
    case LeftFor::groups:
      return "groups";
    case LeftFor::one_tap_in_place:
      return "one tap in place";
    case LeftFor::first_frames:
      return "first frames";
    case LeftFor::something_else:
      break;
  }
  return "something else";
}

json to_json(const Card& card, const EnginesOfCard& found) {
  json engines = json::array(), left = json::object();
  for (const auto& [engine, use] : found.engines) {
    engines.push_back({{"engine", engine},
                       {"convolutions", use.convolutions},
                       {"most_inputs", use.most_inputs},
                       {"tensor_cores", use.tensor_cores},
                       {"compiled", use.compiles},
                       {"workspace_bytes", use.workspace_bytes}});
  }
  for (const auto& [why, count] : found.left) left[name_of(why)] = count;
  return {{"architecture", architecture_name(card)},
          {"card", card.name},
          {"engines", std::move(engines)},
          {"left", std::move(left)},
          {"workspace_bytes", found.workspace_bytes},
          {"granted_bytes", found.granted_bytes},
          {"over_grant", found.over_grant},
          {"poor", found.poor}};
}

json to_json(const SurveyedDecode& decode) {
  return {{"width_pixels", decode.width_pixels},
          {"height_pixels", decode.height_pixels},
          {"frames", decode.frames},
          {"tight", decode.tight}};
}

int run(const std::vector<std::string>& models) {
  const std::string why = why_cudnn_cannot_be_asked();
  if (!why.empty()) {
    std::cerr << why << '\n';
    return 5;
  }
  json surveys = json::array();
  for (const std::string& model : models) {
    std::cerr << model << '\n';
    const std::vector<SurveyedDecode> decodes = decodes_of(model, true);
    json sizes = json::array();
    for (const SurveyedDecode& decode : decodes) sizes.push_back(to_json(decode));
    for (const auto& [dtype, found] : survey_engines(decodes)) {
      json cards = json::array();
      for (size_t i = 0; i < kCards.size(); ++i) cards.push_back(to_json(kCards[i], found[i]));
      surveys.push_back(
          {{"model", model}, {"dtype", headroom::name_of(dtype)}, {"decodes", sizes}, {"cards", cards}});
    }
  }
  const size_t version = cudnnGetVersion();
  const json all{{"cudnn", std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) +
                               "." + std::to_string(version % 100)},
                 {"surveys", std::move(surveys)}};
  std::cout << all.dump(1) << '\n';
  return 0;
}

}  // namespace
}  // namespace headroom::test

int main(int count, char** arguments) {
  try {
    return headroom::test::run(std::vector<std::string>(arguments + 1, arguments + count));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 5;
  }
}
