#include "decoder/base/progress/progress.h"

#include <chrono>
#include <iostream>

#include "decoder/base/os/standard_streams.h"
#include "decoder/base/progress/progress_bar.h"
#include "decoder/base/progress/progress_writer.h"

namespace headroom {
namespace {

class NoProgress final : public Progress {
  void tell(const ProgressNews&) override {}
};

}  // namespace

std::unique_ptr<Progress> make_progress(const ProgressOptions& options, std::ostream& stream) {
  const bool standard_error = &stream == &std::cerr;
  const bool terminal = standard_error && is_terminal(kStandardError);
  if (options.quiet) return std::make_unique<NoProgress>();
  if (options.style == "lines") {
    const auto start = std::chrono::steady_clock::now();
    const auto clock = [start] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    return std::make_unique<ProgressWriter>(stream, clock, standard_error ? kStandardError : -1);
  }
  if (options.style == "bar" || (options.style == "auto" && terminal))
    return std::make_unique<ProgressBar>(stream);
  return std::make_unique<NoProgress>();
}

}  // namespace headroom
