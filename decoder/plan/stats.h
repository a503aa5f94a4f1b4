#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// One pass as it ran, beside what the plan said of it.
struct PassStats {
  std::string name;
  int64_t predicted_peak_bytes = 0;
  int64_t peak_bytes = 0;
  double predicted_seconds = 0;
  double seconds = 0;
  friend bool operator==(const PassStats&, const PassStats&) = default;
};

/// A comparison of the decoded picture with another decode of the same latent (--verify).
struct Verification {
  std::string compared_with;          ///< in words: the untiled decode, or which other plan
  double largest_error = 0;           ///< largest absolute difference, in the decoder's own range
  double largest_error_relative = 0;  ///< the same, over reference_magnitude
  double reference_magnitude = 0;     ///< largest absolute value of the reference
  double psnr_db = 0;                 ///< infinite where both decodes are equal
  friend bool operator==(const Verification&, const Verification&) = default;
};

/// What one decode measured. Peaks count device bytes of every kind that the limit covers.
struct RunStats {
  int64_t limit_bytes = 0;
  int64_t predicted_peak_bytes = 0;
  int64_t peak_bytes = 0;        ///< pool_peak_bytes + outside_bytes
  int64_t pool_peak_bytes = 0;   ///< high-water mark of live bytes in the pool
  int64_t outside_bytes = 0;     ///< growth outside the pool
  int64_t rss_growth_bytes = 0;  ///< what the operating system saw
  double predicted_seconds = 0;
  double seconds = 0;
  int64_t scratch_written_bytes = 0;  ///< of kept tensors, to the scratch file
  int64_t scratch_read_bytes = 0;
  double transfer_wait_seconds = 0;  ///< that the decode stood still for these transfers
  std::vector<PassStats> passes;
  std::string device;
  std::string libraries;
  int threads = 0;
  std::optional<Verification> verification;
  friend bool operator==(const RunStats&, const RunStats&) = default;
};

}  // namespace headroom
