#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "decoder/schedule/peak.h"
#include "decoder/trace/memory_kind.h"
#include "planner/explain/peak.h"
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
  std::vector<double> seconds;  ///< time of each moment; at least one; never decreasing
  std::vector<MemoryUse> use;   ///< in use from each moment to the next
  double end_seconds = 0;
  int64_t limit_bytes = 0;
  std::vector<Span> passes{};
  /// Entries on the device at moment i, largest first. Their bytes add up to the moment's total.
  std::function<std::vector<LiveEntry>(size_t)> live{};
  std::vector<DriverSample> driver{};  ///< the driver's own count during the decode
  std::vector<Span> waits{};           ///< intervals in which a rank waited for others; they do not overlap
};

/// Device memory of one decode over time, by kind. Predicted from a plan or recorded in a trace.
class Timeline {
 public:
  Timeline(TimelineData data);

  size_t size() const { return data_.seconds.size(); }
  double seconds(size_t i) const { return data_.seconds[i]; }
  const MemoryUse& use(size_t i) const { return data_.use[i]; }
  int64_t total_bytes(size_t i) const { return totals_[i]; }
  /// End of the decode. The last moment holds until then.
  double end_seconds() const { return data_.end_seconds; }
  int64_t limit_bytes() const { return data_.limit_bytes; }
  const std::vector<Span>& passes() const { return data_.passes; }
  const std::vector<DriverSample>& driver() const { return data_.driver; }
  const std::vector<Span>& waits() const { return data_.waits; }
  /// True if any moment has memory of this kind.
  bool has(MemoryKind kind) const { return has_[static_cast<size_t>(kind)]; }
  /// The decode's own kinds, and other kinds only if any moment has them. For example, a CPU has no slack,
  /// and a GPU has no `outside`.
  std::vector<MemoryKind> kinds() const;

  /// The moment with the most bytes. Ties go to the one with the least slack, then to the first. Slack counts
  /// last because a GPU's slack fills the rest of its reservation.
  size_t peak() const { return highest(0, size()); }
  /// The last moment that is not after `seconds`; 0 before the first.
  size_t at(double seconds) const;
  /// The first moment that is not before `seconds`; size() after the last.
  size_t from(double seconds) const;
  /// The highest moment in [begin, end), which must not be empty. Uses precomputed maxima of blocks, so a
  /// million moments cost as much as some hundred.
  size_t highest(size_t begin, size_t end) const;
  std::vector<LiveEntry> live_set(size_t i) const { return data_.live(i); }

 private:
  /// Moment number i of level 0, or the highest one of block i of a level above.
  size_t entry(size_t level, size_t i) const { return level == 0 ? i : blocks_[level - 1][i]; }
  bool is_higher(size_t a, size_t b) const;

  TimelineData data_;
  std::vector<int64_t> totals_;
  std::vector<std::vector<uint32_t>> blocks_;  ///< by level: the highest moment of each 64 entries
  std::array<bool, kMemoryKinds> has_{};
};

/// Builds the timeline of a trace. Traces of several ranks share one clock. Memory outside the pool is
/// sampled, and each sample holds until the next. Once the trace sums up allocations, live memory is known by
/// kind only.
Timeline measured_timeline(DocumentPtr trace);

/// Builds the timeline of a plan, band by band and step by step. Steps share their pass's predicted seconds
/// in proportion to their FLOPs. If a band has several tiles, the first is drawn, then all others as one.
/// Micro-batches need the same memory and are drawn as one. The reserve counts as `outside`. In a plan for a
/// GPU, the reserve is gaps in the reservation and counts as `slack`. Workspace comes from assumed costs. If
/// a profile measured more, the plan's predicted peak is higher by the difference.
Timeline predicted_timeline(DocumentPtr plan);

/// Draws the time from `begin_seconds` to `end_seconds` in at most `columns` columns of equal time, and a
/// final point. A column shows its highest moment by kind, so no peak is lost. If there are no more moments
/// than columns, each is drawn. The driver's count is drawn over the areas. If the rank waited for others, a
/// strip shows the waiting share of each column.
Chart timeline_chart(const Timeline& timeline, const std::string& title, double begin_seconds,
                     double end_seconds, size_t columns);

/// Entries on the device at moment i: name, kind, bytes, share.
Table live_table(const Timeline& timeline, size_t i);
/// Same table for given entries, which are on the device together. Largest first.
Table live_table(const std::vector<LiveEntry>& entries, const std::string& title = {});

/// Converts `live` to a timeline's kinds of memory. On a GPU, the reserve counts as gaps of the reservation.
MemoryUse use_of(const LiveBytes& live, const DeviceRecord& device);

/// The largest difference between the driver's count of a GPU's memory and ours.
struct DriverDifference {
  double seconds = 0;
  int64_t driver_bytes = 0;
  int64_t counted_bytes = 0;  ///< our own count, all kinds together
};

/// None if there are no driver samples. Several moments may share the time of a sample. The one closest to
/// the driver's count is then used.
std::optional<DriverDifference> largest_difference(const Timeline& timeline);

/// The driver's count from `begin_seconds` to `end_seconds` as a series. Each column has at most two points:
/// its highest count and its last.
Series driver_series(const std::vector<DriverSample>& driver, double begin_seconds, double end_seconds,
                     size_t columns);

}  // namespace headroom::reports
