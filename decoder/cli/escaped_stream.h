#pragma once

#include <ostream>
#include <streambuf>
#include <string>

namespace headroom {

/// Forwards lines to another stream and escapes terminal control characters (decoder/base/printable.h),
/// because lines may contain names from files. A line is forwarded when it ends, or by flush().
class EscapedStream : private std::streambuf, public std::ostream {
 public:
  explicit EscapedStream(std::ostream& next)
      : std::ostream(static_cast<std::streambuf*>(this)), next_(next) {}
  ~EscapedStream() override;

 private:
  std::streambuf::int_type overflow(std::streambuf::int_type symbol) override;
  int sync() override;

  std::ostream& next_;
  std::string line_;
};

}  // namespace headroom
