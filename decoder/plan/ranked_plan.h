#pragma once

#include <cstdint>
#include <vector>

#include "decoder/plan/plan.h"

// A decode on several ranks: one process per device, on one machine or several. Each rank runs the same
// passes on its own rows (RankShare). Ranks exchange four kinds of data:
//
//     rows              a pass reads some rows beyond a rank's own. Its neighbours send them when the pass
//                       that writes the tensor is done
//     keys and values   attention reads them whole, so every rank sends its rows to all others
//     statistics        of each pass that takes some: every rank sends its own to all others, which merge
//                       them in rank order
//     output            every rank's rows to rank 0, which writes the file, when all passes are done
//
// Keys and values are kept tensors. So their rows are RowTransfers too.
namespace headroom {

/// Rows of a kept tensor that their owner sends to a rank that reads them.
struct RowTransfer {
  int32_t pass = 0;  ///< the pass that writes the tensor; the rows are sent after it
  TensorId tensor{-1};
  int32_t from = 0, to = 0;
  Interval rows;
  friend bool operator==(const RowTransfer&, const RowTransfer&) = default;
};

/// Bytes that one rank sends in a whole decode.
struct RankTraffic {
  int64_t rows_bytes = 0;
  int64_t statistics_bytes = 0;  ///< to all other ranks together
  int64_t output_bytes = 0;      ///< to rank 0: fp32
  int64_t total() const { return rows_bytes + statistics_bytes + output_bytes; }
  friend bool operator==(const RankTraffic&, const RankTraffic&) = default;
};

/// How several ranks run one decode, each under its own limit. Plain data; docs/formats.md describes the
/// file.
struct RankedPlan {
  Request request;
  Link link;
  std::vector<Plan> plans;  ///< by rank. All have the same passes and kept tensors, each its own limit
  /// In sending order: pass by pass, and in each pass transfers to later ranks first.
  std::vector<RowTransfer> transfers;
  std::vector<RankTraffic> traffic;  ///< by rank
  double predicted_seconds = 0;      ///< of the slowest rank, including communication
  int64_t peak_bytes() const;        ///< largest predicted peak of any rank
  int64_t sent_bytes() const;        ///< by all ranks together
  friend bool operator==(const RankedPlan&, const RankedPlan&) = default;
};

}  // namespace headroom
