#pragma once

#include <string>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/schedule/peak.h"

namespace headroom::planner {

/// Blocks of one kept tensor that come or go during some bands of a pass.
struct BlockMove {
  enum class Kind : uint8_t {
    stored,     ///< allocated by the step that stores them
    fetched,    ///< allocated, and read from a lower tier
    written,    ///< copied to a lower tier, then freed
    given_back  ///< freed when the band is done
  };
  Kind kind{};
  TensorId tensor{-1};
  Interval blocks;  ///< equally many in each band
};

/// Rows of another rank that a band waits for.
struct AwaitedRows {
  size_t band = 0;
  RowTransfer transfer;
};

/// Peak of a band, in three parts: bytes live throughout the pass, kept blocks, and step memory (tiles,
/// carried positions and workspace).
struct BandPeak {
  SweepPoint point;
  int64_t throughout = 0, kept = 0, steps = 0;
  int64_t live() const { return throughout + kept + steps; }
};

/// Consecutive bands of a pass with equal heights that move equally many blocks of each tensor.
struct BandRun {
  Interval bands;
  std::vector<BlockMove> moves;
  std::vector<AwaitedRows> awaited;  ///< in a run of one band only
  BandPeak highest;                  ///< highest peak of its bands
};

/// Workspace of one step beyond the memory model, from a profile's measurement.
struct ExtraWorkspace {
  size_t step = 0;
  int64_t bytes = 0;
};

/// The bands of a pass, top to bottom. If `merged`, consecutive similar bands share a run.
std::vector<BandRun> band_runs(const Pass& pass, const PassSweep& sweep, const ExtraWorkspace& extra,
                               const std::vector<AwaitedRows>& awaited, bool merged);

/// Rows of other ranks that the plan's rank waits for, by pass. A message is listed at the first band that
/// reads one of its rows.
std::vector<std::vector<AwaitedRows>> awaited_rows(const Graph& graph, const Plan& plan,
                                                   const std::vector<RowTransfer>& transfers);

}  // namespace headroom::planner
