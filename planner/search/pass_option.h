#pragma once

#include <map>
#include <memory>
#include <vector>

#include "decoder/lowering/build_plan.h"
#include "decoder/lowering/tensor_use.h"
#include "planner/search/kept_rows.h"
#include "planner/search/working_bytes.h"

namespace headroom::planner {

/// One tile shape for a pass, by the numbers of its height, its width and its chunks of frames, and
/// that of the algorithms of its convolutions, with what they cost. A search looks at a million of them.
struct Shape {
  Shape() = default;
  Shape(size_t height_number, size_t width_number, size_t chunk_number, size_t algorithms_number = 0)
      : algorithms(static_cast<uint16_t>(algorithms_number)),
        height(static_cast<uint8_t>(height_number)),
        width(static_cast<uint8_t>(width_number)),
        chunk(static_cast<uint8_t>(chunk_number)) {}
  double seconds = 0;
  int64_t peak_bytes = -1;  ///< -1 where not known yet
  uint16_t algorithms = 0;
  uint8_t height = 0, width = 0, chunk = 0;
  bool alternative = false;  ///< of PassOption::alternative()
};

/// One way to run a pass: the kept tensors that it touches, and what it computes. In which tier they
/// live is still open, and so is what else is kept meanwhile: one lowering serves all of that.
class PassOption {
 public:
  /// `working` is that of its steps, and must outlive the option.
  PassOption(WorkingBytes& working, const KeptRows& kept, const Sizes& sizes, std::vector<TensorUse> touched);

  /// The kept tensors that the pass reads or writes, as given: without rows of a rank and block heights.
  const std::vector<TensorUse>& touched() const { return touched_; }
  /// Bytes of the parameters that the pass needs, packed for the direct algorithm.
  int64_t parameter_bytes() const { return brought_[0].per_pass; }

  /// Bytes of the rows on one side of a rank's own that the pass reads beyond those of KeptRows: it
  /// recomputes something from them. 0 where there is one rank.
  int64_t widened_bytes() const { return widened_bytes_; }

  /// Another way to do the same with the same tensors; null where there is none.
  const PassOption* alternative() const { return alternative_.get(); }
  void set_alternative(std::unique_ptr<PassOption> option) { alternative_ = std::move(option); }
  /// Fills in the decisions of a plan that runs the pass this way, in this shape.
  void decide(const Shape& shape, PassDecision& decision) const;

  // The members below serve TileChoice. `tiers` is parallel to touched().
  size_t heights() const { return heights_.size(); }
  size_t widths() const { return widths_.size(); }
  size_t chunks() const { return chunks_.size(); }
  Extent tile(const Shape& shape) const;
  /// Every shape that is countable(), without seconds and bytes.
  std::vector<Shape> shapes() const;
  /// Countable shapes to try for the smallest peak, smaller ones first. One of them has the smallest peak of
  /// all. With assumed costs, the direct algorithm, narrower tiles and fewer frames need no more memory, so
  /// other shapes are left out. Tiles of the full width and all frames stay, because no other tile precedes
  /// them in their band.
  std::vector<Shape> small_shapes() const;
  /// False where the device's libraries cannot count the values of a tile (decoder/lowering/gpu_layout.h),
  /// where there would be too many tiles on a GPU, and where a profile says nothing of tiles as large and the
  /// pass has smaller ones.
  bool countable(const Shape& shape) const {
    const size_t number = (shape.chunk * heights() + shape.height) * widths() + shape.width;
    const std::vector<bool>& priced = priced_[shape.algorithms];
    return (countable_.empty() || countable_[number]) && (priced.empty() || priced[number]) &&
           !too_many_tiles(shape);
  }
  /// Without transfers and without bringing parameters in, but with transforming kernels for their
  /// algorithms.
  double seconds(const Shape& shape) const;
  /// Bytes of the parameters that the pass brings onto the device: those of convolutions by the shape's
  /// algorithms, or all of them if none are resident.
  int64_t brought_bytes(const Shape& shape, WeightResidency residency) const;
  size_t bands(size_t height) const { return heights_[height].bands; }
  CostModel::Transfers transfers(const std::vector<MemoryTier>& tiers) const;
  bool stages(const std::vector<MemoryTier>& tiers) const { return !staged(tiers).empty(); }
  /// Seconds that the shape waits for keys and values that arrive block by block, beyond the time that
  /// attention computes. Every tile and frame of queries reads them again.
  double staging_seconds(const Shape& shape, const std::vector<MemoryTier>& tiers) const;
  /// Kept blocks by segment of the pass (decoder/lowering/peak.h).
  struct LiveBySegment {
    std::vector<SegmentBytes> first;  ///< in the first of several bands, where its tiles differ
    std::vector<SegmentBytes> full;   ///< in all bands but the last; empty where there is one
    std::vector<SegmentBytes> last;   ///< in the last, whose tiles may be lower
    std::vector<TensorId> staged{};   ///< keys and values that come block by block
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
    int64_t first_band = 0, last_band = 0;  ///< rows of these
    size_t bands = 0;
  };

  bool too_many_tiles(const Shape& shape) const;
  void find_seconds() const;
  void find_least_bytes();
  void find_countable();
  /// For the shapes of all of algorithms_.
  void find_priced();
  /// The kept rows of a tensor. A rank keeps the rows that this pass reads, too.
  std::optional<Interval> rows_of(const TensorUse& use, const KeptRows& kept) const;
  int64_t grid_rows() const { return own_rows(sizes_, pass_.scale.y).length(); }
  std::vector<TensorId> staged(const std::vector<MemoryTier>& tiers) const;

  std::unique_ptr<PassOption> alternative_;
  WorkingBytes& working_;
  const Graph& graph_;
  const CostModel& costs_;
  const Sizes sizes_;
  Pass& pass_;  ///< of the working bytes
  std::vector<TensorUse> touched_;
  std::vector<TensorUse> uses_;  ///< parallel to touched_, complete but for the tier
  std::vector<bool> stored_;     ///< parallel to touched_: the pass stores it in blocks of its own
  std::vector<Height> heights_;
  std::vector<int64_t> widths_;
  std::vector<int64_t> chunks_;                           ///< frames of the pass's grid
  const std::vector<ConvolutionAlgorithms>& algorithms_;  ///< of the working bytes
  /// Parallel to algorithms_, then to chunks_; height by height. Filled when first asked for.
  mutable std::vector<std::vector<std::vector<double>>> seconds_;
  std::vector<Brought> brought_;           ///< parallel to algorithms_
  std::vector<bool> countable_;            ///< chunk by chunk, height by height; empty where all are
  std::vector<std::vector<bool>> priced_;  ///< likewise, by algorithm: shapes that latency tables cover
  /// By height and tiers. Filled when first asked for.
  mutable std::map<std::pair<size_t, std::vector<MemoryTier>>, LiveBySegment> live_bytes_;
  std::vector<int64_t> whole_bytes_;  ///< parallel to touched_
  /// Parallel to touched_: the fewest bytes when the sweep begins, and when it ends.
  std::vector<int64_t> begin_bytes_, end_bytes_;
  int64_t widened_bytes_ = 0;
};

}  // namespace headroom::planner
