#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>

namespace headroom {

/// Writes the elements of an array one by one.
class Elements {
 public:
  explicit Elements(std::ostream& out) : out_(out) { out_ << "["; }
  template <typename... Values>
  void add(const char* format, Values... values) {
    char text[256];
    const int length = std::snprintf(text, sizeof text, format, values...);
    out_ << (first_ ? "\n" : ",\n");
    out_.write(text, length);
    first_ = false;
  }
  void add(const nlohmann::json& value) {
    out_ << (first_ ? "\n" : ",\n") << value.dump();
    first_ = false;
  }
  void end() { out_ << "\n]"; }

 private:
  std::ostream& out_;
  bool first_ = true;
};

}  // namespace headroom
