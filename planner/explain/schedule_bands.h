#pragma once

#include <string>
#include <vector>

#include "decoder/lowering/peak.h"
#include "decoder/plan/ranked_plan.h"

namespace headroom::planner {

/// Blocks of one kept tensor that come or go during some bands of a pass.
struct BlockMove {
  enum class Kind : uint8_t {
    stored,     ///< taken by the step that stores them
    fetched,    ///< taken, and read from a tier below the device
    written,    ///< copied to a tier below the device, then given back
    given_back  ///< when the band is done
  };
  Kind kind{};
  TensorId tensor{-1};
  Interval blocks;
  int64_t each = 0;  ///< blocks in each band
};

/// Rows of another rank that a band waits for.
struct AwaitedRows {
  size_t band = 0;
  RowTransfer transfer;
};

/// The most that is live in a band: throughout the pass, in kept blocks, and in tiles, carried positions and
/// workspace.
struct BandPeak {
  SweepPoint point;
  int64_t throughout = 0, kept = 0, steps = 0;
  int64_t live() const { return throughout + kept + steps; }
};

/// Bands of a pass in a row that are equally high and move equally many blocks of each tensor.
struct BandRun {
  Interval bands;
  std::vector<BlockMove> moves;
  std::vector<AwaitedRows> awaited;  ///< in a run of one band only
  BandPeak highest;                  ///< of all of its bands
};

/// Workspace that a plan counts in one step beyond what its memory model says: a profile has seen it.
struct ExtraWorkspace {
  size_t step = 0;
  int64_t bytes = 0;
};

/// The bands of a pass, top to bottom. Each is a run of its own unless `merged`.
std::vector<BandRun> band_runs(const Pass& pass, const PassSweep& sweep, const ExtraWorkspace& extra,
                               const std::vector<AwaitedRows>& awaited, bool merged);

/// The rows of other ranks that the plan's rank waits for, by pass: each message in the first band that reads
/// one of its rows.
std::vector<std::vector<AwaitedRows>> awaited_rows(const Graph& graph, const Plan& plan,
                                                   const std::vector<RowTransfer>& transfers);

}  // namespace headroom::planner
