#include "decoder/base/os/process_memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "decoder/base/os/descriptor.h"
#include "decoder/base/os/system_failure.h"
#include "decoder/base/os/system_file.h"

namespace headroom {
namespace {

constexpr size_t kLongestFigure = 40;  // with leading spaces

/// Returns the number after `key` in a file of "key: 123 kB" lines, or -1.
int64_t kibibytes(const char* file, const std::string& key) {
  const std::string text = "\n" + text_of_system_file(file).value_or("");
  const std::string start = "\n" + key + ":";
  const size_t line = text.find(start);
  return line == std::string::npos ? -1 : std::stoll(text.substr(line + start.size(), kLongestFigure));
}

}  // namespace

int64_t resident_bytes() {
  return kibibytes("/proc/self/status", "VmRSS") * 1024;
}
int64_t peak_resident_bytes() {
  return kibibytes("/proc/self/status", "VmHWM") * 1024;
}

bool reset_peak_resident() {
  const char* file = "/proc/self/clear_refs";
  const Descriptor opened(open(file, O_WRONLY | O_CLOEXEC));
  int failed = opened.number() < 0 ? errno : 0;
  while (opened.number() >= 0 && write(opened.number(), "5", 1) != 1) {
    failed = errno;
    if (failed != EINTR) break;
    failed = 0;
  }
  // Without a reset, the peak would include earlier work.
  if (is_system_failure(failed)) fail_by_errno(file, failed);
  return failed == 0;
}

int64_t machine_total_bytes() {
  return kibibytes("/proc/meminfo", "MemTotal") * 1024;
}
int64_t machine_available_bytes() {
  return kibibytes("/proc/meminfo", "MemAvailable") * 1024;
}

int64_t physical_bytes() {
  return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
}

void return_free_heap() {
  malloc_trim(0);
}
void use_one_heap() {
  mallopt(M_ARENA_MAX, 1);
}

}  // namespace headroom
