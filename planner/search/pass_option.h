#pragma once

#include <map>
#include <memory>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/schedule/blocks.h"
#include "decoder/schedule/build_plan.h"
#include "planner/search/liveness.h"
#include "planner/search/working_bytes.h"

namespace headroom::planner {

/// Algorithms that the search tries for a pass's convolutions: all direct, then all Winograd, then Winograd
/// for all but one, all but two, and so on. From the third entry on, each has smaller kernels and is slower
/// than the entry before it.
///
/// Winograd kernels take extra bytes for each pair of channels, and save time for each pair and position. So
/// convolutions on coarse tensors save least for their bytes and become direct first. Among equally coarse
/// ones, a convolution over upsampling goes first: its kernels grow most, and its direct algorithm saves time
/// itself. Then the earlier one goes first.
std::vector<ConvolutionAlgorithms> pass_algorithms(const Graph& graph, const Pass& pass,
                                                   const std::vector<ConvolutionAlgorithm>& of_device);

/// One tile shape and one choice of convolution algorithms for a pass, with their cost. Sizes and algorithms
/// are stored as indices into the option's lists. Kept small, because a search looks at a million shapes.
struct Shape {
  Shape() = default;
  Shape(size_t height_number, size_t width_number, size_t chunk_number, size_t algorithms_number = 0)
      : algorithms(static_cast<uint16_t>(algorithms_number)),
        height(static_cast<uint8_t>(height_number)),
        width(static_cast<uint8_t>(width_number)),
        chunk(static_cast<uint8_t>(chunk_number)) {}
  double seconds = 0;
  int64_t peak_bytes = -1;  ///< -1 until known
  uint16_t algorithms = 0;
  uint8_t height = 0, width = 0, chunk = 0;
  bool alternative = false;  ///< the shape belongs to PassOption::alternative()
};

/// One way to run a pass: the kept tensors that it touches and the steps that it runs. Does not fix the
/// memory tiers of these tensors, nor which other tensors are kept. So one lowering serves all those cases.
class PassOption {
 public:
  /// `working` must describe this pass's steps and outlive the option.
  PassOption(WorkingBytes& working, const KeptRows& kept, std::vector<TensorUse> touched);

  /// The kept tensors that the pass reads or writes, as passed to the constructor: without a rank's rows and
  /// without block heights.
  const std::vector<TensorUse>& touched() const { return touched_; }
  /// Bytes of the parameters that the pass needs, packed for the direct algorithm.
  int64_t parameter_bytes() const { return brought_[0].per_pass; }

  /// Bytes of the rows on one side of a rank's own rows that the pass reads in addition to those of KeptRows.
  /// The pass recomputes tensors from these rows. 0 with a single rank.
  int64_t widened_bytes() const { return widened_bytes_; }

  /// Another way to compute the same results from the same tensors. Null if there is none.
  const PassOption* alternative() const { return alternative_.get(); }
  void set_alternative(std::unique_ptr<PassOption> option) { alternative_ = std::move(option); }
  /// Fills in the decision of a plan that runs the pass this way, with this shape.
  void decide(const Shape& shape, PassDecision& decision) const;

  // The members below serve TileChoice. `tiers` is parallel to touched().
  size_t heights() const { return heights_.size(); }
  size_t widths() const { return widths_.size(); }
  size_t chunks() const { return chunks_.size(); }
  Extent tile(const Shape& shape) const;
  /// Every shape for which is_usable() is true, without seconds and bytes.
  std::vector<Shape> shapes() const;
  /// Usable shapes to try for the smallest peak, smaller ones first. One of them has the smallest peak of
  /// all. With assumed costs, only shapes with the direct algorithm stay, with the fewest or all frames, and
  /// with the narrowest or the full width. If rows are carried, narrower tiles may need more memory, so every
  /// width stays.
  std::vector<Shape> small_shapes() const;
  /// False if the shape cannot be used, for one of three reasons: the device's libraries cannot index a tile
  /// of this size (decoder/schedule/gpu_layout.h); a GPU would run too many tiles; or the profile does not
  /// cover tiles this large and the pass has smaller ones.
  bool is_usable(const Shape& shape) const {
    const size_t number = (shape.chunk * heights() + shape.height) * widths() + shape.width;
    const std::vector<bool>& priced = priced_[shape.algorithms];
    return possible_[number] && (priced.empty() || priced[number]);
  }
  /// Compute time of the pass. Includes transforming kernels for their algorithm. Excludes transfers and
  /// loading parameters.
  double seconds(const Shape& shape) const;
  /// Bytes of the parameters that the pass loads onto the device. With resident weights these are only the
  /// transformed kernels of the shape's algorithms; otherwise they are all parameters.
  int64_t brought_bytes(const Shape& shape, WeightResidency residency) const;
  size_t bands(size_t height) const { return heights_[height].bands; }
  CostModel::Transfers transfers(const std::vector<MemoryTier>& tiers) const;
  bool stages(const std::vector<MemoryTier>& tiers) const { return !staged(tiers).empty(); }
  /// Seconds that the shape waits for keys and values that arrive block by block, beyond the time that
  /// attention computes. Every tile and frame of queries reads them again.
  double staging_seconds(const Shape& shape, const std::vector<MemoryTier>& tiers) const;
  /// Kept blocks by segment of the pass (decoder/schedule/peak.h).
  struct LiveBySegment {
    std::vector<SegmentBytes> first;  ///< first of several bands, if its tiles differ
    std::vector<SegmentBytes>
        full;  ///< the bands between `first`, if set, and `last`; empty if there are none
    std::vector<SegmentBytes> last;  ///< the last band, whose tiles may have fewer rows
    std::vector<TensorId> staged{};  ///< keys and values that are fetched block by block
  };
  const LiveBySegment& live_bytes(size_t height, const std::vector<MemoryTier>& tiers) const;
  /// Peak of the pass: live blocks plus the working memory of its tiles.
  int64_t peak_bytes(const Shape& shape, const LiveBySegment& live) const;
  /// Lower bound on live bytes for every height: the tensors present when the sweep begins, or when it ends.
  int64_t least_bytes(const std::vector<MemoryTier>& tiers) const;

 private:
  struct Brought {
    int64_t per_pass = 0, beside_resident = 0;
  };
  struct Height {
    int64_t length = 0;
    int64_t first_band = 0, last_band = 0;  ///< in rows
    size_t bands = 0;
  };

  bool too_many_tiles(const Shape& shape) const;
  void find_seconds() const;
  /// Finds the shapes whose tiles the device's libraries can index, and that make few enough tiles.
  void find_possible();
  void exclude_large_tiles();
  /// Finds the shapes that the latency tables cover, for every entry of algorithms_.
  void find_priced();
  /// Rows of a tensor that are stored. A rank also stores the rows of other ranks that this pass reads.
  std::optional<Interval> rows_of(TensorId tensor, const KeptRows& kept) const;
  int64_t grid_rows() const { return own_rows(sizes_, pass_.scale.y).length(); }
  std::vector<TensorId> staged(const std::vector<MemoryTier>& tiers) const;

  std::unique_ptr<PassOption> alternative_;
  WorkingBytes& working_;
  const Graph& graph_;
  const CostModel& costs_;
  const Sizes& sizes_;
  Pass& pass_;  ///< owned by working_
  std::vector<TensorUse> touched_;
  std::vector<TensorUse> uses_;  ///< parallel to touched_, complete but for the tier
  std::vector<bool> stored_;     ///< parallel to touched_: the pass stores it in blocks of its own
  std::vector<Height> heights_;
  std::vector<int64_t> widths_;
  std::vector<int64_t> chunks_;                           ///< frames of the pass's grid
  const std::vector<ConvolutionAlgorithms>& algorithms_;  ///< of the working bytes
  /// Indexed by algorithm, then by chunk; heights in order, widths within a height. Filled on first use.
  mutable std::vector<std::vector<std::vector<double>>> seconds_;
  std::vector<Brought> brought_;           ///< parallel to algorithms_
  std::vector<bool> possible_;             ///< by chunk, then height, then width
  std::vector<std::vector<bool>> priced_;  ///< by algorithm, then likewise: shapes that latency tables cover
  /// By height and tiers. Filled on first use.
  mutable std::map<std::pair<size_t, std::vector<MemoryTier>>, LiveBySegment> live_bytes_;
  std::vector<int64_t> whole_bytes_;  ///< parallel to touched_
  int64_t widened_bytes_ = 0;
};

}  // namespace headroom::planner
