#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "decoder/base/axes.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/schedule/peak.h"

// Helpers for texts on plans.
namespace headroom::planner {

inline std::string counted(int64_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

inline std::string gflops_text(double flops) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f GFLOP", flops / 1e9);
  return text;
}

/// "3" or "3..5": both ends belong to the range.
inline std::string range_text(const Interval& numbers) {
  const std::string begin = std::to_string(numbers.begin);
  return numbers.length() == 1 ? begin : begin + ".." + std::to_string(numbers.end - 1);
}

inline std::string left_aligned(const std::string& text, size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 0, ' ');
}

inline std::string right_aligned(const std::string& text, size_t width) {
  return std::string(text.size() < width ? width - text.size() : 0, ' ') + text;
}

inline std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

inline size_t widest(const std::vector<std::string>& texts) {
  size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, text.size());
  return width;
}

/// Formats all byte counts of one text in the same unit, with at most two decimals. The parts of a sum are
/// rounded so that they add up to the rounded sum.
class RoundedAmounts {
 public:
  /// Chooses the unit for amounts up to `largest`.
  explicit RoundedAmounts(int64_t largest);
  const char* unit() const { return unit_; }
  std::string text(int64_t bytes) const { return digits(rounded(bytes)); }
  /// The parts, and their sum at the end.
  std::vector<std::string> sum(const std::vector<int64_t>& parts) const;

 private:
  int64_t rounded(int64_t bytes) const;
  std::string digits(int64_t rounded) const;

  const char* unit_;
  int64_t unit_bytes_;
};

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

struct ScheduleOptions {
  /// Print only this pass, with a line for every band. Unset: print all passes. Then similar bands share a
  /// line, and a long pass shows only its first bands, its last bands and the band of its peak.
  std::optional<size_t> pass{};
  /// Rows that the ranks of a plan exchange; the plan is that of one of them.
  std::vector<RowTransfer> transfers{};
};

/// Text of all events in a decode, in order. For each pass it has the kept tensors at the beginning, the
/// steps of a tile with the memory that each allocates and frees, the blocks that each band moves, and the
/// tensors released at the end. All amounts use the same unit. The largest live amount equals the plan's
/// predicted peak. The plan must be valid. Throws InputError if the pass does not exist.
std::string schedule(const Plan& plan, const Model& model, const ScheduleOptions& options = {});

/// The part of a schedule that is about one pass. Plan, graph and model must outlive it.
class PassSchedule {
 public:
  PassSchedule(const Plan& plan, const Graph& graph, size_t number, const MemoryModel& memory);

  std::string text(const RoundedAmounts& amounts, const std::vector<AwaitedRows>& awaited,
                   const ScheduleOptions& options) const;

 private:
  std::string name(TensorId tensor) const;
  std::string rows(const RowTransfer& transfer) const;
  std::string kernels() const;
  const char* weights_name() const;

  std::string begin(const RoundedAmounts& amounts) const;
  std::string tiles() const;
  std::string steps(const RoundedAmounts& amounts) const;
  std::string bands(const std::vector<BandRun>& runs, const RoundedAmounts& amounts,
                    const ScheduleOptions& options) const;
  std::string end(const ScheduleOptions& options) const;

  size_t full_band() const;
  std::string made_by(size_t step, const RoundedAmounts& amounts) const;
  std::string given_back_after(size_t step) const;
  std::string band_line(const BandRun& run, const RoundedAmounts& amounts) const;
  std::string events(const BandRun& run) const;

  const Plan& plan_;
  const Graph& graph_;
  const size_t number_;
  const Pass& pass_;
  const PassSweep sweep_;
  ExtraWorkspace extra_;
};

}  // namespace headroom::planner
