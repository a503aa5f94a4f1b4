#include "decoder/base/os/process_memory.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <string>

#include "decoder/base/os/control_groups.h"
#include "decoder/base/os/open_file.h"
#include "decoder/base/os/system_failure.h"
#include "decoder/base/os/whole_file.h"

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

namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;
/// Memory of headroom-decode's code and libraries before a decode. Measured: 12 MiB.
constexpr int64_t kProgramBytes = 16 * kMebibyte;
constexpr int64_t kLeastMargin = 16 * kMebibyte, kMostMargin = 256 * kMebibyte;

}  // namespace

int64_t memory_bytes() {
  const int64_t machine = machine_total_bytes();
  return std::min(machine, own_control_groups().memory_bytes.value_or(machine));
}

int64_t available_bytes() {
  int64_t available = machine_available_bytes();
  if (const auto group = own_control_groups().free_memory_bytes) available = std::min(available, *group);
  return std::max<int64_t>(0, available);
}

int64_t automatic_limit_bytes(int64_t available_bytes) {
  const int64_t margin = std::clamp(available_bytes / 16, kLeastMargin, kMostMargin);
  return std::max<int64_t>(0, available_bytes - kProgramBytes - margin);
}

}  // namespace headroom
