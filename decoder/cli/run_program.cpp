#include "decoder/cli/run_program.h"

#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <ostream>
#include <streambuf>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/os/left_behind.h"
#include "decoder/base/os/standard_streams.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

// Forwards lines to another stream and escapes terminal control characters (decoder/base/text.h),
// because lines may contain names from files. A line is forwarded when it ends, or by flush().
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

bool program_returned = false;

/// Exit handler for libraries that call exit() during the work. OpenMP's runtime under LibTorch does so if
/// it gets no thread or no memory. The library has already printed the reason.
void end_for_library() {
  if (program_returned) return;
  remove_named_files();
  std::_Exit(kDeviceFailure);
}

[[noreturn]] void end_without_memory() noexcept {
  remove_named_files();
  report_out_of_memory();
  std::_Exit(kDeviceFailure);
}

std::terminate_handler other_ends = nullptr;

/// Terminate handler. It reports "out of memory" when an allocation fails where nothing may be thrown, as in
/// destructors of the JSON library, or when there is no memory for the exception itself.
[[noreturn]] void end_where_nothing_catches() noexcept {
  try {
    if (std::current_exception() != nullptr) throw;
  } catch (const std::bad_alloc&) {
    end_without_memory();
  } catch (...) {
  }
  // Without an exception, test the heap: there may have been no memory for the exception.
  constexpr size_t kSomeBytes = 4096;
  void* some = std::malloc(kSomeBytes);
  if (some == nullptr) end_without_memory();
  std::free(some);
  remove_named_files();
  other_ends();
  std::abort();
}

int run_with_streams(int argc, char** argv, Program program) {
  const std::vector<std::string> args{argv + 1, argv + argc};
  if (!is_terminal(kStandardOutput)) return program(args, std::cout, std::cerr);
  EscapedStream out(std::cout);
  return program(args, out, std::cerr);
}

}  // namespace

int run_program(int argc, char** argv, Program program) {
  hold_standard_streams();
  remove_files_on_signals();
  ignore_closed_pipes();
  other_ends = std::set_terminate(end_where_nothing_catches);
  std::atexit(end_for_library);
  int code = kDeviceFailure;
  try {
    code = run_with_streams(argc, argv, program);
  } catch (const std::bad_alloc&) {
    end_without_memory();
  }
  program_returned = true;
  return code;
}

}  // namespace headroom
