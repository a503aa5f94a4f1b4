#pragma once

#include <span>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"

// Which rows each of several ranks decodes and stores. Rows of the latent are shared out, and with them the
// rows of every tensor that they become:
//
//     latent   0    1    2    3    4    5         2 ranks of a decoder whose output has 8 times as many rows
//     rank 0   [==============]
//     rank 1                  [==============]
//     output   0              24            48    rank 0 owns rows 0 to 24
//                             |..|                and stores, for a pass with a halo of 2, rows 0 to 26
namespace headroom {

/// The latent rows that each rank owns. Shares are as equal as possible, larger ones first. They are empty
/// for ranks beyond the number of rows.
std::vector<Interval> share_rows(int64_t latent_rows, int32_t ranks);

/// The rows of a kept tensor that the plan's rank owns or that its passes read.
Interval rows_needed(const Graph& graph, const Plan& plan, TensorId tensor);

/// The rows that each rank reads from other ranks.
std::vector<RowTransfer> row_transfers(const Graph& graph, const std::vector<Plan>& plans);

/// Bytes that each rank sends in a whole decode.
std::vector<SentBytes> sent_bytes_of(const Graph& graph, const Plans& group);

/// Number of values in a step's statistics for a micro-batch: count, mean and squared differences of every
/// group, or sums of keys and values.
int64_t statistics_values(const Graph& graph, const Step& step, const Sizes& sizes);
/// Sum over the steps of a pass that take statistics.
int64_t statistics_values(const Graph& graph, const Pass& pass, const Sizes& sizes);

/// The first band of a pass that reads one of these rows, or the number of bands if none does. Returns 0 if
/// the pass overwrites one of the tensors in place. `plan` is the receiving rank's.
size_t first_band_of(const Graph& graph, const Plan& plan, size_t pass,
                     std::span<const RowTransfer* const> rows);

}  // namespace headroom
