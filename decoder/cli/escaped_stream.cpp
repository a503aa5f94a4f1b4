#include "decoder/cli/escaped_stream.h"

#include "decoder/base/printable.h"

namespace headroom {

EscapedStream::~EscapedStream() {
  EscapedStream::sync();
}

std::streambuf::int_type EscapedStream::overflow(std::streambuf::int_type symbol) {
  using Traits = std::streambuf::traits_type;
  if (symbol == Traits::eof()) return Traits::not_eof(symbol);
  if (Traits::to_char_type(symbol) != '\n') {
    line_ += Traits::to_char_type(symbol);
    return symbol;
  }
  next_ << escaped(line_) << '\n';
  line_.clear();
  return next_ ? symbol : Traits::eof();
}

int EscapedStream::sync() {
  next_ << escaped(line_) << std::flush;
  line_.clear();
  return next_ ? 0 : -1;
}

}  // namespace headroom
