#include "decoder/machine/process_memory.h"

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

int64_t machine_available_bytes() {
  return kibibytes("/proc/meminfo", "MemAvailable") * 1024;
}

}  // namespace headroom
