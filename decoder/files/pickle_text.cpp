#include "decoder/files/pickle_text.h"

#include <charconv>
#include <cstdint>

namespace headroom {
namespace {

/// Takes `digits` hexadecimal digits off the front of `rest`.
std::optional<uint32_t> take_hexadecimal(std::string_view& rest, size_t digits) {
  if (rest.size() < digits) return std::nullopt;
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + digits, value, 16);
  if (error != std::errc() || end != rest.data() + digits) return std::nullopt;
  rest.remove_prefix(digits);
  return value;
}

/// Surrogates too, as Python writes them into pickles.
void append_utf8(std::string& out, uint32_t code) {
  const auto byte = [&](uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      byte(0xe0 | code >> 12);
    } else {
      byte(0xf0 | code >> 18);
      byte(0x80 | (code >> 12 & 0x3f));
    }
    byte(0x80 | (code >> 6 & 0x3f));
  }
  byte(0x80 | (code & 0x3f));
}

/// The byte that the escape `letter` stands for, with what belongs to it taken off `rest`.
std::optional<uint32_t> escaped_byte(char letter, std::string_view& rest) {
  switch (letter) {
    case '\\':
    case '\'':
    case '"':
      return static_cast<unsigned char>(letter);
    case 'a':
      return 7;
    case 'b':
      return 8;
    case 't':
      return 9;
    case 'n':
      return 10;
    case 'v':
      return 11;
    case 'f':
      return 12;
    case 'r':
      return 13;
    case 'x':
      return take_hexadecimal(rest, 2);
    default:
      break;
  }
  if (letter < '0' || letter > '7') return std::nullopt;
  uint32_t value = static_cast<uint32_t>(letter - '0');
  for (int more = 0; more < 2 && !rest.empty() && rest.front() >= '0' && rest.front() <= '7'; ++more) {
    value = value * 8 + static_cast<uint32_t>(rest.front() - '0');
    rest.remove_prefix(1);
  }
  return value & 0xff;
}

}  // namespace

std::optional<std::string> unquoted(std::string_view line) {
  if (line.size() < 2 || line.front() != line.back() || (line.front() != '\'' && line.front() != '"')) {
    return std::nullopt;
  }
  std::string_view rest = line.substr(1, line.size() - 2);
  std::string out;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c != '\\') {
      out.push_back(c);
      continue;
    }
    if (rest.empty()) return std::nullopt;
    const char letter = rest.front();
    rest.remove_prefix(1);
    const std::optional<uint32_t> byte = escaped_byte(letter, rest);
    if (!byte) return std::nullopt;
    out.push_back(static_cast<char>(*byte));
  }
  return out;
}

std::optional<std::string> unescaped(std::string_view line) {
  std::string out;
  while (!line.empty()) {
    const char c = line.front();
    line.remove_prefix(1);
    const bool escape = c == '\\' && !line.empty() && (line.front() == 'u' || line.front() == 'U');
    if (!escape) {
      append_utf8(out, static_cast<unsigned char>(c));
      continue;
    }
    const size_t digits = line.front() == 'u' ? 4 : 8;
    line.remove_prefix(1);
    const std::optional<uint32_t> code = take_hexadecimal(line, digits);
    if (!code || *code > 0x10ffff) return std::nullopt;
    append_utf8(out, *code);
  }
  return out;
}

}  // namespace headroom
