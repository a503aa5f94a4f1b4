#include "planner/program/limit_argument.h"

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "planner/run/tasks.h"

namespace headroom::planner {

int64_t limit_from(const std::string& text, const DeviceRecord& device) {
  if (text != "auto") return parse_bytes(text, "--limit");
  if (!device.is_host) {
    throw InputError(
        "--limit auto: what a GPU has free is not known without it; give bytes, as in --limit 16GiB");
  }
  return limit_of_free_memory(nullptr);
}

}  // namespace headroom::planner
