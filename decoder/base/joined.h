#pragma once

#include <string>
#include <vector>

namespace headroom {

/// Joins the nonempty words.
inline std::string joined(const std::vector<std::string>& words, const char* separator = ", ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() || word.empty() ? "" : separator) + word;
  return text;
}

}  // namespace headroom
