#include "decoder/base/os/processor_waits.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace headroom {

ProcessorWaits::~ProcessorWaits() {
  close_all();
}

void ProcessorWaits::close_all() {
  for (int file : files_) close(file);
  files_.clear();
}

void ProcessorWaits::follow() {
  close_all();
  std::error_code unknown;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", unknown)) {
    const int file = open((task.path() / "schedstat").c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) files_.push_back(file);
  }
}

double ProcessorWaits::seconds() const {
  double nanoseconds = 0;
  for (int file : files_) {
    char text[96] = {};
    // Format: time on a processor, time waited, number of time slices.
    if (pread(file, text, sizeof text - 1, 0) <= 0) continue;
    char* waited = nullptr;
    std::strtod(text, &waited);
    nanoseconds += std::strtod(waited, nullptr);
  }
  return nanoseconds * 1e-9;
}

}  // namespace headroom
