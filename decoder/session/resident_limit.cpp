#include "decoder/session/resident_limit.h"

#include "decoder/graph/amounts.h"
#include "decoder/graph/errors.h"
#include "decoder/machine/process_memory.h"

namespace headroom {

ResidentLimit::ResidentLimit(int64_t limit_bytes)
    : limit_bytes_(limit_bytes), begin_bytes_(resident_bytes()) {}

void ResidentLimit::check() const {
  const int64_t grown_bytes = resident_bytes() - begin_bytes_;
  if (grown_bytes <= limit_bytes_) return;
  throw LimitExceeded("the process has grown by " + format_bytes(grown_bytes) + ", more than the limit of " +
                      format_limit(limit_bytes_) +
                      ". Other processes that reach its port may have sent data");
}

}  // namespace headroom
