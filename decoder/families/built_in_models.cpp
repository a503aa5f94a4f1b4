#include "decoder/families/built_in_models.h"

#include <algorithm>
#include <map>

#include "decoder/base/nearest.h"
#include "decoder/families/families.h"

namespace headroom {
namespace {

/// Configs by name.
const std::map<std::string, std::string>& built_ins() {
  static const std::map<std::string, std::string> table = [] {
    std::map<std::string, std::string> all;
    for (const Family& family : families())
      for (const BuiltIn& model : family.built_ins) all.emplace(model.name, model.config);
    return all;
  }();
  return table;
}

/// "FLUX.1-dev" as "flux1dev".
std::string letters_and_digits(const std::string& name) {
  std::string word = lower_case(name);
  std::erase_if(word, [](char c) { return !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'); });
  return word;
}

}  // namespace

std::vector<std::string> built_in_models() {
  std::vector<std::string> names;
  for (const auto& entry : built_ins()) names.push_back(entry.first);
  return names;
}

const std::string* built_in_config(const std::string& name) {
  const auto entry = built_ins().find(name);
  return entry == built_ins().end() ? nullptr : &entry->second;
}

std::string nearest_built_in(const std::string& name) {
  // The last part of a path or repository names the model.
  const std::string word = letters_and_digits(name.substr(name.find_last_of('/') + 1));
  std::vector<std::string> words;
  std::string longest;
  for (const auto& [built_in, config] : built_ins()) {
    words.push_back(letters_and_digits(built_in));
    if (word.starts_with(words.back()) && built_in.size() > longest.size()) longest = built_in;
  }
  if (!longest.empty()) return longest;
  const auto same = [&](const std::string& known) {
    return std::next(built_ins().begin(), std::find(words.begin(), words.end(), known) - words.begin())
        ->first;
  };
  constexpr size_t kLeastLetters = 3;
  for (const std::string& known : words) {
    if (word.size() >= kLeastLetters && known.starts_with(word)) return same(known);
  }
  const std::string known = nearest(word, words);
  return known.empty() ? "" : same(known);
}

}  // namespace headroom
