#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom::reports {

/// Writes HTML and SVG. Every text and every value of an attribute is escaped here and nowhere else, so that
/// no caller can forget it.
class Markup {
 public:
  using Attributes = std::vector<std::pair<const char*, std::string>>;

  void open(const char* name, const Attributes& attributes = {});
  void close();  ///< closes the last opened element
  void text(std::string_view text);
  /// An element that contains only text.
  void element(const char* name, const Attributes& attributes, std::string_view text);
  /// A void element. In HTML only for elements such as meta; in SVG for any.
  void empty(const char* name, const Attributes& attributes);
  /// Appends markup from another writer, without escaping.
  void insert(std::string_view markup) { written_ += markup; }
  void line_break() { written_ += '\n'; }

  /// Returns the markup. All elements must be closed.
  std::string take();

 private:
  void tag(const char* name, const Attributes& attributes);
  std::string written_;
  std::vector<const char*> open_;
};

/// A coordinate with one decimal, shortened: "12", "12.5".
std::string coordinate(double value);

/// Makes text from a file safe to show: valid UTF-8, with U+FFFD for invalid bytes. Line breaks and tabs
/// become spaces. Control characters and marks that change the direction of text are dropped.
std::string clean_text(std::string_view text);

/// Clean text escaped for HTML and SVG, between tags and inside quoted attributes.
std::string html_text(std::string_view text);

/// Clean text escaped for one line of Markdown, also inside a table. No part of it is read as markup or a
/// link.
std::string markdown_text(std::string_view text);

/// Length in bytes of the character at `at`. `text` must be clean.
size_t character_bytes(std::string_view text, size_t at);

}  // namespace headroom::reports
