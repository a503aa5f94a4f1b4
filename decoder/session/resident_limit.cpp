#include "decoder/session/resident_limit.h"

#include <algorithm>
#include <utility>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/os/process_memory.h"

namespace headroom {
namespace {

/// Connections, the model and the plan took 3 to 8 MiB for 2 to 16 ranks. LibTorch is loaded before.
constexpr int64_t kBeforeDecodeBytes = int64_t{256} << 20;
/// Allowance per byte of file. A half-precision latent takes twice its file, and as much again for the
/// agreement. Parsed JSON takes the most.
constexpr int64_t kOfFileBytes = 16;
/// Allowance for a trace. TraceBounds keeps traces smaller than this.
constexpr int64_t kTraceBytes = int64_t{128} << 20;

}  // namespace

ResidentLimit::ResidentLimit(int64_t begin_bytes, int64_t limit_bytes, std::string limit)
    : begin_bytes_(begin_bytes), limit_bytes_(limit_bytes), limit_(std::move(limit)) {}

ResidentLimit ResidentLimit::before_decode(int64_t file_bytes) {
  const int64_t bytes = kBeforeDecodeBytes + kOfFileBytes * file_bytes;
  return {resident_bytes(), bytes, "the " + format_limit(bytes) + " that it may take before it decodes"};
}

ResidentLimit ResidentLimit::of_decode(int64_t limit_bytes, bool traced, const ResidentLimit& before) {
  return {std::min(resident_bytes(), before.begin_bytes_ + before.limit_bytes_),
          limit_bytes + (traced ? kTraceBytes : 0),
          "the limit of " + format_limit(limit_bytes) +
              (traced ? " and " + format_limit(kTraceBytes) + " for its trace" : "")};
}

void ResidentLimit::check() {
  grown_bytes_ = std::max(grown_bytes_, resident_bytes() - begin_bytes_);
  if (grown_bytes_ <= limit_bytes_) return;
  throw LimitExceeded("the process has grown by " + format_bytes(grown_bytes_) + ", more than " + limit_ +
                      ". Other processes that reach its port may have sent data");
}

}  // namespace headroom
