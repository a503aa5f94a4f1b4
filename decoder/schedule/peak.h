#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "decoder/schedule/memory.h"
#include "decoder/schedule/window.h"

// Computes a pass's peak memory; no other planner code does. A pass sweeps over the picture band by band. It
// runs all of its steps on every tile of a band. Its steps form segments. Each segment except the first
// begins with a store:
//
//                     step 0, step 1 | store a, step 3 | store b, emit
//                     ---------------+-----------------+--------------
//     band 0, tile 0     segment 0   |    segment 1    |  segment 2
//     band 0, tile 1     segment 2, throughout
//     band 1, tile 0     segment 0   |    segment 1    |  segment 2
//
// The first tile of a band allocates the band's output blocks, one tensor at each store. For the other tiles
// of the band all of these blocks already exist, as in the first tile's last segment.
//
// Live memory at a moment has three parts. Kept blocks depend on the band and on the segment. Tiles, carried
// frames and workspace depend on the step and on the height of the band. The rest is live throughout.
//
// decoder/validator/memory.cpp counts it again, independently.
namespace headroom {

/// Device memory at one moment, in bytes.
struct LiveBytes {
  int64_t resident_weights = 0;  ///< parameters that stay for the whole decode
  int64_t pass_weights = 0;      ///< parameters that the pass brought in
  int64_t latent = 0;
  int64_t state = 0;    ///< statistics and sums
  int64_t picture = 0;  ///< 0 unless the picture stays in memory
  int64_t reserve = 0;  ///< the plan's allowance for memory outside the pool
  int64_t kept = 0;
  StepBytes step{};
  int64_t total() const {
    return resident_weights + pass_weights + latent + state + picture + reserve + kept + step.total();
  }
};
/// Memory that is live throughout a plan. `kept`, `step` and `pass_weights` are 0.
LiveBytes live_throughout(const Graph& graph, const Plan& plan);

/// A moment of a sweep. The first tile of a band acquires its blocks, so they are live during later tiles.
struct SweepPoint {
  size_t band = 0, step = 0;
  bool later_tile = false;
};

/// The highest moment of a sweep.
struct Peak {
  int64_t bytes = 0;
  SweepPoint point;
};

/// The largest number of bytes in one segment of a pass, and the step or band where it occurs.
struct SegmentBytes {
  int64_t bytes = 0;
  size_t at = 0;
};
/// Bytes of tiles, carried frames and workspace, by segment.
std::vector<SegmentBytes> step_bytes_by_segment(const Pass& pass, const std::vector<StepBytes>& bytes);
/// Bytes of the blocks of all windows in these bands, by segment.
std::vector<SegmentBytes> block_bytes_by_segment(std::span<const Window> windows, const Interval& bands);
/// Bytes of a window's blocks at a moment of the sweep.
int64_t bytes_at(const Window& window, const SweepPoint& point);
/// The peak of blocks and steps together, for bands of one height. `several_tiles` is true if a band has more
/// than one tile.
Peak peak_of(std::span<const SegmentBytes> blocks, std::span<const SegmentBytes> steps, bool several_tiles);

/// Live device memory at every moment of one pass. Plan, graph and model must outlive it. A rank without rows
/// has no tiles. Each of its passes has a single moment, with the memory that is live throughout.
class PassSweep {
 public:
  PassSweep(const Graph& graph, const Plan& plan, size_t pass, const MemoryModel& model);

  LiveBytes live(const SweepPoint& point) const;
  /// The moment with the largest live().total(), and this total.
  Peak peak() const;
  /// The highest moment of one band.
  Peak peak_of_band(size_t band) const;

  /// The blocks of each kept tensor, band by band.
  const std::vector<Window>& windows() const { return windows_; }
  /// The bytes of each step on a tile of this band.
  const std::vector<StepBytes>& steps_of(size_t band) const;
  /// The largest tile that a step makes in this band, and its bytes.
  struct StepTile {
    Extent extent;
    int64_t bytes = 0;
    int64_t carried_bytes = 0;  ///< for the next chunk or band; live throughout the pass
  };
  StepTile tile_of_step(size_t step, size_t band) const;

  struct LiveTensor {
    TensorId tensor{-1};
    int64_t bytes = 0;
  };
  /// The tensors behind LiveBytes::kept.
  std::vector<LiveTensor> kept(const SweepPoint& point) const;
  /// The tensors behind StepBytes::tiles and StepBytes::carried. A tensor may occur twice.
  std::vector<LiveTensor> tiles(const SweepPoint& point) const;

 private:
  Extent tile_of(size_t band) const;
  /// Position of the band in its pass. Always `further_down` in passes that do not depend on it.
  BandPlace place_of(size_t band) const;
  /// The highest moment of bands with equal tiles, without memory that is live throughout.
  Peak highest_in(const Interval& bands) const;

  const Graph& graph_;
  const Pass& pass_;
  const MemoryModel& model_;
  Sizes sizes_;
  Extent tile_;
  LiveBytes throughout_;
  std::vector<Window> windows_;
  std::vector<TensorId> staged_;  ///< keys and values in a lower tier
  /// By band height and place; computed on first use.
  mutable std::map<std::pair<int64_t, BandPlace>, std::vector<StepBytes>> steps_;
};

}  // namespace headroom
