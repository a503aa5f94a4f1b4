#pragma once

#include <string>
#include <vector>

#include "reports/figures/document.h"

namespace headroom::reports {

/// Identity of the decode of a plan or of a recorded run.
struct DecodeIdentity {
  Request request;
  int64_t limit_bytes = 0;
  std::vector<std::string> passes;  ///< names; empty: the run recorded no interval for the pass
};
DecodeIdentity identity_of(const PlanDocument& plan);
DecodeIdentity identity_of(const RecordedTrace& trace);

/// True if model, size, dtype, device, limit and passes agree. Only then can a prediction and a measurement
/// be compared. An unknown pass name agrees with any.
bool of_one_decode(const DecodeIdentity& a, const DecodeIdentity& b);

/// "sdxl 1024x1024 fp32, limit 1024.0 MiB, 32 passes".
std::string text_of(const DecodeIdentity& decode);

}  // namespace headroom::reports
