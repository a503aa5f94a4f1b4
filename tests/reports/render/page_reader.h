#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace headroom::test {}
namespace headroom::reports::test {
using namespace headroom::test;

/// An element of a page as a browser would have it, texts without their escapes.
struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::vector<std::unique_ptr<Element>> children;
  std::string own_text;  ///< between the tags, without that of children

  std::string attribute(const std::string& key) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? "" : found->second;
  }
  /// All of this name below, in their order.
  std::vector<const Element*> all(const std::string& wanted) const {
    std::vector<const Element*> found;
    for (const auto& child : children) {
      if (child->name == wanted) found.push_back(child.get());
      for (const Element* below : child->all(wanted)) found.push_back(below);
    }
    return found;
  }
  const Element& first(const std::string& wanted) const {
    const std::vector<const Element*> found = all(wanted);
    if (found.empty()) throw std::runtime_error("no <" + wanted + "> in <" + name + ">");
    return *found.front();
  }
  std::string text() const {
    std::string all_text = own_text;
    for (const auto& child : children) all_text += child->text();
    return all_text;
  }
};

/// Reads pages that are strict: every element closed in its order, every attribute quoted, no < or bare & in
/// texts. Throws std::runtime_error at whatever else, so hostile text that becomes markup is found out.
class PageReader {
 public:
  static std::unique_ptr<Element> read(const std::string& page) {
    PageReader reader(page);
    auto root = std::make_unique<Element>();
    root->name = "page";
    reader.read_into(*root);
    if (reader.at_ != page.size()) reader.fail("something after the page");
    return root;
  }

 private:
  explicit PageReader(const std::string& page) : page_(page) {
    const std::string type = "<!DOCTYPE html>";
    if (page_.starts_with(type)) at_ = type.size();
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + " before: " + page_.substr(at_, 60));
  }
  bool looking_at(const std::string& text) const { return page_.compare(at_, text.size(), text) == 0; }
  char next() {
    if (at_ >= page_.size()) fail("the page ends");
    return page_[at_++];
  }
  void expect(char c) {
    if (next() != c) fail(std::string("expected ") + c);
  }
  static bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; }
  std::string read_name() {
    std::string name;
    while (at_ < page_.size() && is_name(page_[at_])) name += page_[at_++];
    if (name.empty()) fail("expected a name");
    return name;
  }
  char read_character() {
    const char c = next();
    if (c == '<' || c == '>') fail("markup in a text");
    if (c != '&') return c;
    static const std::map<std::string, char> kEntities{
        {"amp;", '&'}, {"lt;", '<'}, {"gt;", '>'}, {"quot;", '"'}, {"#39;", '\''}};
    for (const auto& [entity, meaning] : kEntities) {
      if (!looking_at(entity)) continue;
      at_ += entity.size();
      return meaning;
    }
    fail("a bare &");
  }

  void read_into(Element& element) {
    while (at_ < page_.size() && !looking_at("</")) {
      if (page_[at_] == '<') {
        read_element(element);
      } else {
        element.own_text += read_character();
      }
    }
  }

  void read_element(Element& parent) {
    expect('<');
    auto element = std::make_unique<Element>();
    element->name = read_name();
    while (next() == ' ') {
      const std::string key = read_name();
      expect('=');
      expect('"');
      std::string value;
      while (page_[at_] != '"') value += read_character();
      expect('"');
      if (!element->attributes.emplace(key, value).second) fail("an attribute twice");
    }
    const char end = page_[at_ - 1];
    if (end == '/') {
      expect('>');
    } else if (end != '>') {
      fail("a tag that does not end");
    } else {
      if (element->name == "style" || element->name == "script") {
        const size_t close = page_.find("</" + element->name, at_);
        element->own_text = page_.substr(at_, close - at_);
        at_ = close;
      } else {
        read_into(*element);
      }
      expect('<');
      expect('/');
      if (read_name() != element->name) fail("not closed: " + element->name);
      expect('>');
    }
    parent.children.push_back(std::move(element));
  }

  const std::string& page_;
  size_t at_ = 0;
};

/// A table of a page: headings, and rows of cells, those of the part that is folded away behind the shown
/// ones.
struct PageTable {
  std::string caption;
  std::vector<std::string> groups;  ///< of the columns; empty where there are none
  std::vector<std::string> heads;
  std::vector<std::vector<const Element*>> rows;
  size_t shown_rows = 0;

  /// The column under this heading, the `number`th of them.
  size_t column(const std::string& head, size_t number = 0) const {
    for (size_t c = 0; c < heads.size(); ++c) {
      if (heads[c] == head && number-- == 0) return c;
    }
    throw std::runtime_error("no column " + head + " in " + caption);
  }
  /// Exactly as it stands in the page's data.
  double value(size_t row, const std::string& head, size_t number = 0) const {
    return std::stod(rows.at(row).at(column(head, number))->attribute("data-value"));
  }
  /// The full one, where the cell shows a short name.
  std::string text(size_t row, const std::string& head, size_t number = 0) const {
    const Element& cell = *rows.at(row).at(column(head, number));
    return cell.attribute("title").empty() ? cell.text() : cell.attribute("title");
  }
};

inline std::vector<PageTable> tables_of(const Element& page) {
  std::vector<PageTable> tables;
  for (const Element* box : page.all("div")) {
    if (!box->attribute("class").starts_with("table")) continue;
    PageTable table;
    for (const Element* part : box->all("table")) {
      const std::vector<const Element*> head_rows = part->first("thead").all("tr");
      if (part == box->all("table").front()) {
        table.caption = part->first("caption").own_text;
        for (const auto& cell : head_rows.back()->children) table.heads.push_back(cell->text());
        if (head_rows.size() > 1) {
          for (const auto& cell : head_rows.front()->children) {
            for (int i = std::stoi(cell->attribute("colspan")); i > 0; --i)
              table.groups.push_back(cell->text());
          }
        }
      }
      for (const Element* row : part->first("tbody").all("tr")) {
        table.rows.emplace_back();
        for (const auto& cell : row->children) table.rows.back().push_back(cell.get());
      }
      if (table.shown_rows == 0) table.shown_rows = table.rows.size();
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

inline const PageTable& table_named(const std::vector<PageTable>& tables, const std::string& start) {
  for (const PageTable& table : tables) {
    if (table.caption.starts_with(start)) return table;
  }
  throw std::runtime_error("no table " + start);
}

}  // namespace headroom::reports::test
