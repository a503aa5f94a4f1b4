#pragma once

#include <sstream>
#include <string>

// Standard streams swallow std::bad_alloc, so text would be cut off silently. These classes throw it.
namespace headroom {

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
