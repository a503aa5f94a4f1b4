#include "decoder/base/os/free_memory.h"

#include <algorithm>

#include "decoder/base/os/control_groups.h"
#include "decoder/base/os/process_memory.h"

namespace headroom {
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
