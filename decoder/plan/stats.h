#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decoder/base/axes.h"
#include "decoder/plan/tf32.h"

namespace headroom {

/// Measurements of one pass, next to the plan's predictions.
struct PassStats {
  std::string name;
  int64_t predicted_peak_bytes = 0;
  int64_t peak_bytes = 0;
  double predicted_seconds = 0;
  double seconds = 0;
  friend bool operator==(const PassStats&, const PassStats&) = default;
};

/// Value of Verification::compared_with for a comparison with the untiled decode.
constexpr const char* kUntiledDecode = "the untiled decode";

/// A comparison of the decoded picture with another decode of the same latent (--verify).
struct Verification {
  std::string compared_with;          ///< kUntiledDecode, or a description of the other plan
  double largest_error = 0;           ///< largest absolute difference, in the decoder's own range
  double largest_error_relative = 0;  ///< largest_error / reference_magnitude
  double reference_magnitude = 0;     ///< largest absolute value of the reference
  double psnr_db = 0;                 ///< infinite if both decodes are equal
  friend bool operator==(const Verification&, const Verification&) = default;
  bool with_untiled() const { return compared_with == kUntiledDecode; }
};

/// One decode of a queue.
struct DecodeStats {
  std::string name;     ///< the request's
  int32_t request = 0;  ///< index in the queue
  int32_t repetition = 0;
  int32_t plan = 0;  ///< index in the queue; decodes with the same plan have the same shape
  double seconds = 0;
  int64_t peak_bytes = 0;       ///< pool_peak_bytes and growth outside, as in RunStats
  int64_t pool_peak_bytes = 0;  ///< peak of the pool's live bytes during this decode
  int64_t resident_bytes = 0;   ///< resident memory of the process after this decode
  /// Growth of resident_bytes outside the pool since before the first decode.
  int64_t outside_growth_bytes = 0;
  double output_wait_seconds = 0;  ///< as in RunStats
  friend bool operator==(const DecodeStats&, const DecodeStats&) = default;
};

/// Measurements of a queue's decodes, and of memory growth between decodes.
struct QueueStats {
  std::vector<DecodeStats> decodes;   ///< in the order in which they ran
  int64_t resident_before_bytes = 0;  ///< resident memory of the process before the first decode and its
                                      ///< weights
  int64_t pool_allocations = 0;       ///< address ranges reserved for pools
  int64_t pool_growth_bytes = 0;  ///< growth of the pool's resident high-water mark after the first decode
  /// Largest growth outside the pool after every shape has run once.
  int64_t outside_growth_after_warmup_bytes = 0;
  friend bool operator==(const QueueStats&, const QueueStats&) = default;
};

/// GPU time spent on one kind of work.
struct PartStats {
  std::string name;  ///< convolution, attention, elementwise, waiting, copies
  double seconds = 0;
  friend bool operator==(const PartStats&, const PartStats&) = default;
};

/// Number of GPU convolutions that ran on one engine of a library, or on our own kernels.
struct EngineStats {
  std::string name;
  bool compiled = false;  ///< the engine compiled kernels during the decode, which takes seconds
  int64_t runs = 0;
  friend bool operator==(const EngineStats&, const EngineStats&) = default;
};

/// Measurements of one of several ranks.
struct RankStats {
  Interval latent_rows;  ///< latent rows that the rank decoded
  int64_t limit_bytes = 0;
  int64_t predicted_peak_bytes = 0;
  int64_t peak_bytes = 0;  ///< as in RunStats, of its process
  int64_t pool_peak_bytes = 0;
  double seconds = 0;
  int64_t predicted_sent_bytes = 0;
  int64_t sent_bytes = 0;  ///< to other ranks: rows, statistics, output
  friend bool operator==(const RankStats&, const RankStats&) = default;
};

/// Measurements of one decode, or totals of a queue. Peaks count device bytes of every kind that the limit
/// covers.
struct RunStats {
  int64_t limit_bytes = 0;
  int64_t predicted_peak_bytes = 0;
  int64_t peak_bytes = 0;        ///< pool_peak_bytes + outside_bytes
  int64_t pool_peak_bytes = 0;   ///< high-water mark of live bytes in the pool
  int64_t outside_bytes = 0;     ///< growth outside the pool
  int64_t rss_growth_bytes = 0;  ///< growth of resident memory, as the operating system reports it
  double predicted_seconds = 0;
  double seconds = 0;
  double output_wait_seconds = 0;     ///< part of `seconds` spent waiting for the output file
  int64_t scratch_written_bytes = 0;  ///< bytes of kept tensors written to the scratch file
  int64_t scratch_read_bytes = 0;
  double transfer_wait_seconds = 0;  ///< time the decode spent waiting for scratch file transfers
  int64_t to_host_bytes = 0;         ///< bytes of kept tensors copied from a GPU to host memory
  int64_t from_host_bytes = 0;
  int64_t host_weights_bytes = 0;  ///< pinned host memory from which passes on a GPU loaded weights
  std::vector<PassStats> passes;
  std::vector<PartStats> parts;      ///< GPU time by kind of work; copies overlap with the other kinds
  std::vector<EngineStats> engines;  ///< engines of a GPU's convolutions, if the library distinguishes them
  std::string dtype;                 ///< dtype of the decode
  Tf32 tf32;                         ///< work that ran in TF32
  std::string weights_hash;  ///< hash of the loaded parameters (decoder/weights/weights_hash.h), or empty
  std::string device;
  std::string libraries;
  int threads = 0;
  std::optional<Verification> verification;
  std::vector<RankStats> ranks;     ///< only for decodes with several ranks; all other fields are rank 0's
  std::optional<QueueStats> queue;  ///< `passes` is empty then
  friend bool operator==(const RunStats&, const RunStats&) = default;
};

}  // namespace headroom
