#include "reports/render/markup.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace headroom::reports {

void Markup::tag(const char* name, const Attributes& attributes) {
  written_ += '<';
  written_ += name;
  for (const auto& [key, value] : attributes) {
    written_ += ' ';
    written_ += key;
    written_ += "=\"" + html_text(value) + "\"";
  }
}

void Markup::open(const char* name, const Attributes& attributes) {
  tag(name, attributes);
  written_ += '>';
  open_.push_back(name);
}

void Markup::close() {
  if (open_.empty()) throw std::logic_error("no element is open");
  written_ += "</";
  written_ += open_.back();
  written_ += '>';
  open_.pop_back();
}

void Markup::text(std::string_view text) {
  written_ += html_text(text);
}

void Markup::element(const char* name, const Attributes& attributes, std::string_view content) {
  open(name, attributes);
  text(content);
  close();
}

void Markup::empty(const char* name, const Attributes& attributes) {
  tag(name, attributes);
  written_ += "/>";
}

std::string Markup::take() {
  if (!open_.empty()) throw std::logic_error("an element is still open");
  return std::move(written_);
}

std::string coordinate(double value) {
  char text[64];
  const double rounded = std::round(value * 10) / 10;
  std::snprintf(text, sizeof text, "%.1f", rounded == 0 ? 0.0 : rounded);
  std::string short_text = text;
  if (short_text.ends_with(".0")) short_text.resize(short_text.size() - 2);
  return short_text;
}

namespace {

constexpr const char* kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
  bool valid = false;
};

/// Decodes one character of UTF-8. Accepts only the shortest form, no surrogates, and nothing above U+10FFFF.
/// An invalid character counts as one byte.
Character read_character(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const uint32_t first = byte(at);
  if (first < 0x80) return {first, 1, true};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return {};
  uint32_t code = first & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(at + i) & 0x3F);
  }
  const uint32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  if (code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, length, true};
}

bool is_space(uint32_t code) {
  return code == '\n' || code == '\r' || code == '\t' || code == 0x85 || code == 0x2028 || code == 0x2029;
}

/// True for control characters, byte order marks, and marks that change the direction of text.
bool is_dropped(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0x61C || code == 0x200E || code == 0x200F ||
         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0xFEFF;
}

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// True if Markdown could interpret the character at `at`. An underscore inside a word stays as it is.
bool is_markup(const std::string& text, size_t at) {
  const char c = text[at];
  if (c == '_') {
    return at == 0 || at + 1 == text.size() || !is_letter_or_digit(text[at - 1]) ||
           !is_letter_or_digit(text[at + 1]);
  }
  if (std::strchr("\\`*[]|~#!$", c) != nullptr) return true;
  if (at == 0) return std::strchr("-+=", c) != nullptr;
  // "1. " and "1) " at the beginning of a line open a list.
  return (c == '.' || c == ')') && (at + 1 == text.size() || text[at + 1] == ' ') &&
         std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at),
                     [](char digit) { return digit >= '0' && digit <= '9'; });
}

}  // namespace

std::string clean_text(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Character character = read_character(text, at);
    if (!character.valid) {
      clean += kReplacement;
    } else if (is_space(character.code)) {
      clean += ' ';
    } else if (!is_dropped(character.code)) {
      clean += text.substr(at, character.bytes);
    }
    at += character.bytes;
  }
  return clean;
}

size_t character_bytes(std::string_view text, size_t at) {
  return read_character(text, at).bytes;
}

std::string html_text(std::string_view text) {
  std::string escaped;
  for (const char c : clean_text(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string markdown_text(std::string_view text) {
  const std::string clean = clean_text(text);
  std::string escaped;
  for (size_t i = 0; i < clean.size(); ++i) {
    const char c = clean[i];
    const bool before_host = i >= 3 && clean.compare(i - 3, 3, "www") == 0;
    if (c == '&')
      escaped += "&amp;";
    else if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '@')
      escaped += "&#64;";  // Markdown renderers turn mentions and mail addresses into links
    else if (c == ':' && clean.compare(i, 3, "://") == 0)
      escaped += "&#58;";
    else if (c == '.' && before_host)
      escaped += "&#46;";
    else
      escaped += is_markup(clean, i) ? std::string{'\\', c} : std::string{c};
  }
  return escaped;
}

}  // namespace headroom::reports
