#include "planner/program/limit_argument.h"

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/os/free_memory.h"
#include "decoder/base/os/process_memory.h"

namespace headroom::planner {

int64_t limit_from(const std::string& text, DeviceKind device) {
  if (text != "auto") return parse_bytes(text, "--limit");
  if (!device_record(device).is_host) {
    throw InputError(
        "--limit auto: what a GPU has free is not known without it; give bytes, as in --limit 16GiB");
  }
  if (machine_available_bytes() < 0)
    throw DeviceError("/proc/meminfo: no MemAvailable; give --limit in bytes");
  return automatic_limit_bytes(available_bytes());
}

}  // namespace headroom::planner
