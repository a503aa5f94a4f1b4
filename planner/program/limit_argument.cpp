#include "planner/program/limit_argument.h"

#include <algorithm>
#include <fstream>

#include "decoder/graph/amounts.h"
#include "decoder/graph/errors.h"

namespace headroom::planner {
namespace {

/// Kept free under --limit auto, for whatever else the machine is doing.
constexpr int64_t kAutoMarginBytes = int64_t{256} << 20;

int64_t free_memory_bytes() {
  std::ifstream in("/proc/meminfo");
  std::string key, unit;
  int64_t kibibytes = 0;
  while (in >> key >> kibibytes) {
    std::getline(in, unit);
    if (key == "MemAvailable:") return kibibytes * 1024;
  }
  throw DeviceError("/proc/meminfo: no MemAvailable; give --limit in bytes");
}

}  // namespace

int64_t limit_from(const std::string& text, DeviceKind device) {
  if (text == "auto" && device == DeviceKind::cuda) {
    throw InputError(
        "--limit auto: what a GPU has free is not known without it; give bytes, as in --limit 16GiB");
  }
  if (text == "auto") return std::max<int64_t>(0, free_memory_bytes() - kAutoMarginBytes);
  return parse_bytes(text, "--limit");
}

}  // namespace headroom::planner
