#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "decoder/trace/memory_kind.h"
#include "planner/explain/live_memory.h"
#include "reports/figures/chart.h"
#include "reports/figures/document.h"
#include "reports/figures/table.h"

namespace headroom::reports {

/// Bytes of each kind at one moment.
using MemoryUse = std::array<int64_t, kMemoryKinds>;
int64_t total(const MemoryUse& use);

using planner::by_size;
using planner::LiveEntry;

/// Contents of a timeline.
struct TimelineData {
  std::vector<double> seconds;  ///< of each moment: at least one, and they never fall
  std::vector<MemoryUse> use;   ///< from each moment on
  double end_seconds = 0;
  int64_t limit_bytes = 0;
  std::vector<Span> passes{};
  /// Entries on the device at moment i, largest first. Their bytes add up to the moment's total.
  std::function<std::vector<LiveEntry>(size_t)> live{};
  std::vector<DriverSample> driver{};  ///< what the driver counted meanwhile
  std::vector<Span> waits{};           ///< in which a rank waited for others; they do not overlap
};

/// Device memory over one decode: bytes of every kind from each moment to the next, predicted from a plan or
/// recorded in a trace.
class Timeline {
 public:
  Timeline(TimelineData data);

  size_t size() const { return data_.seconds.size(); }
  double seconds(size_t i) const { return data_.seconds[i]; }
  const MemoryUse& use(size_t i) const { return data_.use[i]; }
  int64_t total_bytes(size_t i) const { return totals_[i]; }
  /// When the decode is over; the last moment holds until then.
  double end_seconds() const { return data_.end_seconds; }
  int64_t limit_bytes() const { return data_.limit_bytes; }
  const std::vector<Span>& passes() const { return data_.passes; }
  const std::vector<DriverSample>& driver() const { return data_.driver; }
  const std::vector<Span>& waits() const { return data_.waits; }
  /// True if any moment has memory of this kind.
  bool has(MemoryKind kind) const { return has_[static_cast<size_t>(kind)]; }
  /// The decode's own kinds, and those of the others that there are any of: a CPU has no slack, and on a GPU
  /// nothing is outside.
  std::vector<MemoryKind> kinds() const;

  /// The highest moment: with the most bytes, of those with the least slack, since that of a GPU fills up
  /// what the decode leaves of its reservation; and the first of these.
  size_t peak() const { return highest(0, size()); }
  /// The last moment that is not after `seconds`; 0 before the first.
  size_t at(double seconds) const;
  /// The first moment that is not before `seconds`; size() after the last.
  size_t from(double seconds) const;
  /// The highest moment in [begin, end), which is not empty. By blocks of their maxima: a
  /// million moments cost as much as some hundred.
  size_t highest(size_t begin, size_t end) const;
  std::vector<LiveEntry> live_set(size_t i) const { return data_.live(i); }

 private:
  /// Moment number i of level 0, or the highest one of block i of a level above.
  size_t entry(size_t level, size_t i) const { return level == 0 ? i : blocks_[level - 1][i]; }
  bool is_higher(size_t a, size_t b) const;

  TimelineData data_;
  std::vector<int64_t> totals_;
  std::vector<std::vector<uint32_t>> blocks_;  ///< level by level: the highest moment of each 64 below
  std::array<bool, kMemoryKinds> has_{};
};

/// As recorded; of one of several ranks by the clock of all. Growth outside the pool, looked at now and then,
/// holds until it is looked at again. From where the trace sums allocations up, what is live is known by kind
/// alone.
Timeline measured_timeline(DocumentPtr trace);

/// As planned: band by band and step by step. A pass takes the seconds that the plan predicts, and its steps
/// share them by their FLOPs; where a band has several tiles, the first and then all others as one.
/// Micro-batches of a batch need the same and are drawn as one. The reserve counts as `outside`; that of a
/// GPU's plan, gaps between what lies in the reservation, as `slack`. Workspace is that of assumed costs:
/// where a plan was made with a profile that saw more, its predicted peak is higher by that.
Timeline predicted_timeline(DocumentPtr plan);

/// The time from `begin_seconds` to `end_seconds` in at most `columns` columns of equal time, and a point
/// where it ends. A column shows its highest moment, kind by kind, so no peak is lost; where there are no
/// more moments than columns, each is shown. The driver's count, if there is one, is drawn over the areas. If
/// the rank waited for others, a strip shows the share of each column that it waited.
Chart timeline_chart(const Timeline& timeline, const std::string& title, double begin_seconds,
                     double end_seconds, size_t columns);

/// Entries on the device at moment i: name, kind, bytes, share.
Table live_table(const Timeline& timeline, size_t i);
/// As above, for these entries. They are on the device together, largest first.
Table live_table(const std::vector<LiveEntry>& entries, const std::string& title = {});

}  // namespace headroom::reports
