#include "reports/render/markup.h"

#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "reports/render/escape.h"

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

}  // namespace headroom::reports
