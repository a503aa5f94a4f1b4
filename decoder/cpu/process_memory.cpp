#include "decoder/cpu/process_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace headroom {
namespace {

/// The figure after `key` in a file of "key: 123 kB" lines, or -1.
int64_t kibibytes(const char* file, const std::string& key) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    if (line.rfind(key + ":", 0) == 0) return std::stoll(line.substr(key.size() + 1));
  }
  return -1;
}

int64_t number_in(const char* file) {
  std::ifstream in(file);
  int64_t value = -1;
  return in >> value ? value : -1;
}

}  // namespace

int64_t resident_bytes() {
  return kibibytes("/proc/self/status", "VmRSS") * 1024;
}
int64_t peak_resident_bytes() {
  return kibibytes("/proc/self/status", "VmHWM") * 1024;
}

bool reset_peak_resident() {
  std::ofstream out("/proc/self/clear_refs");
  out << "5" << std::flush;
  return static_cast<bool>(out);
}

int64_t available_bytes() {
  const int64_t free_bytes = kibibytes("/proc/meminfo", "MemAvailable") * 1024;
  const int64_t group_limit = number_in("/sys/fs/cgroup/memory.max");
  const int64_t group_used = number_in("/sys/fs/cgroup/memory.current");
  return group_limit > 0 && group_used >= 0 ? std::min(free_bytes, group_limit - group_used) : free_bytes;
}

}  // namespace headroom
