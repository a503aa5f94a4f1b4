#include "decoder/cli/escaped_stream.h"

#include "decoder/outputs/printable.h"

namespace headroom {

EscapedStream::~EscapedStream() {
  EscapedStream::sync();
}

EscapedStream::int_type EscapedStream::overflow(int_type symbol) {
  if (symbol == traits_type::eof()) return traits_type::not_eof(symbol);
  if (traits_type::to_char_type(symbol) != '\n') {
    line_ += traits_type::to_char_type(symbol);
    return symbol;
  }
  next_ << escaped(line_) << '\n';
  line_.clear();
  return next_ ? symbol : traits_type::eof();
}

int EscapedStream::sync() {
  next_ << escaped(line_) << std::flush;
  line_.clear();
  return next_ ? 0 : -1;
}

}  // namespace headroom
