#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Prepares text from a file for a one-line message: escapes it, and cuts it after 160 bytes, between UTF-8
/// characters, with "..." at the end.
std::string printable(std::string_view text);

/// Escapes everything that acts on a terminal as \n, \t, \x1b or \u202e. That includes control characters,
/// Unicode direction marks and line ends, C1 codes and invalid UTF-8. All other text is unchanged.
std::string escaped(std::string_view text);

/// Prepares a message for one line of a terminal: escapes it, and drops the middle of a very long one.
std::string one_line(std::string_view message);

/// Formats a shape as "[4, 8, 1]".
std::string printable(const std::vector<int64_t>& shape);

/// Joins the nonempty words.
inline std::string joined(const std::vector<std::string>& words, const char* separator = ", ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() || word.empty() ? "" : separator) + word;
  return text;
}

/// ASCII letters in lower case; other bytes stay.
std::string lower_case(std::string text);

/// Number of insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
size_t edit_distance(const std::string& a, const std::string& b);

/// The word nearest to `word`, to suggest a correction. Up to a third of the longer word's letters may
/// differ, and always up to two. Empty if no word is that near.
std::string nearest(const std::string& word, const std::vector<std::string>& words);

// Standard streams swallow std::bad_alloc, so text would be cut off silently. These classes throw it.

/// A stream that composes text.
class TextWriter : public std::ostringstream {
 public:
  TextWriter() { exceptions(std::ios::badbit); }
};

/// A stream that reads text word by word, or line by line.
class TextReader : public std::istringstream {
 public:
  explicit TextReader(const std::string& text) : std::istringstream(text) { exceptions(std::ios::badbit); }
};

}  // namespace headroom
