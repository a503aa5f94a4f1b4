#include "decoder/families/built_in_models.h"

#include <algorithm>
#include <map>

#include "decoder/base/text.h"
#include "decoder/families/families.h"

namespace headroom {
namespace {

/// By name.
const std::map<std::string, BuiltIn>& built_ins() {
  static const std::map<std::string, BuiltIn> table = [] {
    std::map<std::string, BuiltIn> all;
    for (const Family& family : families())
      for (const BuiltIn& model : family.built_ins) all.emplace(model.name, model);
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
  return entry == built_ins().end() ? nullptr : &entry->second.config;
}

std::string built_in_named(const std::string& spelling) {
  const std::string word = letters_and_digits(spelling);
  for (const auto& [name, model] : built_ins()) {
    const auto names = [&](std::string_view other) { return letters_and_digits(std::string(other)) == word; };
    if (names(name) || std::any_of(model.also.begin(), model.also.end(), names)) return name;
  }
  return "";
}

std::vector<std::string> other_names_of(const std::string& built_in) {
  const std::vector<std::string_view>& also = built_ins().at(built_in).also;
  return {also.begin(), also.end()};
}

std::string nearest_built_in(const std::string& name) {
  // The last part of a path or repository names the model.
  const std::string word = letters_and_digits(name.substr(name.find_last_of('/') + 1));
  std::vector<std::string> words;
  std::string longest;
  for (const auto& [built_in, model] : built_ins()) {
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
