#pragma once

#include <sstream>
#include <string>

// Streams of the standard library take note of a refused allocation and say nothing: text would be cut off in
// silence. These throw std::bad_alloc.
namespace headroom {

/// Text that is put together.
class TextWriter : public std::ostringstream {
 public:
  TextWriter() { exceptions(std::ios::badbit); }
};

/// Text that is read word by word, or line by line.
class TextReader : public std::istringstream {
 public:
  explicit TextReader(const std::string& text) : std::istringstream(text) { exceptions(std::ios::badbit); }
};

}  // namespace headroom
