#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "decoder/base/moments.h"
#include "decoder/interpreter/map_view.h"

namespace headroom {

/// Parameters of a norm: one weight and one bias for each channel.
struct NormParameters {
  const float* weight = nullptr;
  const float* bias = nullptr;
  double epsilon = 0;
};

/// Statistics of each group of channels of each batch item, or of each of its frames, gathered tile by tile;
/// each position counts once. A set is an item or, with statistics by frame, one frame of an item. Frames of
/// a run (frames_of_run()) merge their sets when a norm reads them.
class GroupStatistics {
 public:
  GroupStatistics(int64_t items, int64_t groups) : GroupStatistics(items, groups, Interval{}) {}
  /// Each of these frames of an item has its own statistics; none: all frames share theirs.
  GroupStatistics(int64_t items, int64_t groups, const Interval& frames, int32_t run_frames = 0)
      : groups_(groups),
        frames_(frames),
        run_frames_(run_frames),
        moments_(static_cast<size_t>(items * std::max<int64_t>(1, frames.length()) * groups)) {}

  bool by_frame() const { return frames_.length() > 0; }
  int64_t set_of(const Row& row) const {
    return by_frame() ? row.item * frames_.length() + row.t - frames_.begin : row.item;
  }

  /// Merges a region of every item.
  void add(const MapView& view, const Region& region, int64_t items);
  /// Count, mean and M2 of each group of each set. set_values() replaces them.
  std::vector<double> values() const;
  void set_values(const std::vector<double>& values);
  /// False if a NaN or an infinity went in.
  bool finite() const;
  /// Scale and shift per channel of one set:
  /// x * scale + shift = (x - mean) / sqrt(variance + epsilon) * weight + bias.
  void affine(int64_t set, int64_t channels, const NormParameters& norm, float* scale, float* shift) const;

 private:
  void add_frame(const MapView& view, const Region& frame, int64_t items);
  Moments moments_of(int64_t set, int64_t group) const;

  int64_t groups_;
  Interval frames_;  ///< of an item; empty if they share statistics
  int32_t run_frames_;
  std::vector<Moments> moments_;
};

}  // namespace headroom
