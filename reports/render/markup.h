#pragma once

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

}  // namespace headroom::reports
