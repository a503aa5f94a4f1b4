#include "decoder/base/text.h"

#include <algorithm>
#include <cstdio>

namespace headroom {
namespace {

constexpr size_t kLongest = 160;
constexpr size_t kLongestMessage = 4000;

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// Decodes the UTF-8 character at the start of `text`. Returns its length in bytes, or 0 if it is invalid.
size_t decode_character(std::string_view text, uint32_t& character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t length = first < 0x80                     ? 1
                        : first >= 0xc2 && first < 0xe0  ? 2
                        : first >= 0xe0 && first < 0xf0  ? 3
                        : first >= 0xf0 && first <= 0xf4 ? 4
                                                         : 0;
  if (length == 0 || length > text.size()) return 0;
  character = length == 1 ? first : first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if (!continues_character(text[i])) return 0;
    character = character << 6 | (byte(i) & 0x3f);
  }
  const bool overlong = (length == 3 && character < 0x800) || (length == 4 && character < 0x10000);
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  return overlong || surrogate || character > 0x10ffff ? 0 : length;
}

bool acts_on_terminals(uint32_t character) {
  return character < 0x20 || (character >= 0x7f && character < 0xa0) ||
         (character >= 0x200e && character <= 0x200f) || (character >= 0x2028 && character <= 0x202e) ||
         (character >= 0x2066 && character <= 0x2069);
}

std::string escape_of(uint32_t value, bool is_character) {
  if (value == '\n') return "\\n";
  if (value == '\t') return "\\t";
  if (value == '\r') return "\\r";
  char text[16];
  std::snprintf(text, sizeof text, is_character && value > 0xff ? "\\u%04x" : "\\x%02x", value);
  return text;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    uint32_t character = 0;
    const size_t length = decode_character(text, character);
    if (length == 0) {
      result += escape_of(static_cast<unsigned char>(text[0]), false);
    } else if (acts_on_terminals(character)) {
      result += escape_of(character, true);
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string one_line(std::string_view message) {
  if (message.size() <= kLongestMessage) return escaped(message);
  size_t begin = kLongestMessage / 2, end = message.size() - kLongestMessage / 2;
  while (begin > 0 && continues_character(message[begin])) --begin;
  while (end < message.size() && continues_character(message[end])) ++end;
  return escaped(message.substr(0, begin)) + " … " + escaped(message.substr(end));
}

std::string printable(std::string_view text) {
  if (text.size() <= kLongest) return escaped(text);
  size_t length = kLongest;
  while (length > 0 && continues_character(text[length])) --length;
  return escaped(text.substr(0, length)) + "...";
}

std::string printable(const std::vector<int64_t>& shape) {
  std::string result = "[";
  for (size_t i = 0; i < shape.size(); ++i) result += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return result + "]";
}

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t differs = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + differs});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

std::string nearest(const std::string& word, const std::vector<std::string>& words) {
  std::string found;
  size_t least = SIZE_MAX;
  if (word.size() > 64) return found;  // nobody mistypes that
  for (const std::string& other : words) {
    const size_t distance = edit_distance(word, other);
    const size_t allowed = std::max<size_t>(2, std::max(word.size(), other.size()) / 3);
    if (distance > allowed || distance >= std::max(word.size(), other.size()) || distance >= least) continue;
    found = other;
    least = distance;
  }
  return found;
}

}  // namespace headroom
