#pragma once

#include <optional>
#include <vector>

#include "decoder/plan/sizes.h"

namespace headroom {

// Which blocks of a kept tensor are on the device while a pass sweeps over it, band by band.
//
//   tier device      written: a block is taken as the sweep first touches it
//                    read by its last pass: a block is handed back as the sweep leaves it behind
//                    read by an earlier pass: all blocks stay
//                    A pass in two parts is one sweep, which the lower part goes on with. Where lower parts
//                    alone read a tensor after some pass, that pass hands the blocks above these rows back.
//   tiers below it   written: a block leaves for its tier once all of its rows are there, and is on the
//                    device until the next band is done
//                    read: the blocks of a band are fetched while the band before it runs; keys and values,
//                    of which every tile reads all, come two blocks of one item at a time (kStagedBlocks)

/// How the steps of a pass read the rows of one kept tensor.
class RowReaders {
 public:
  RowReaders(const Graph& graph, const Pass& pass, TensorId tensor, const Sizes& sizes);
  /// The first row read for a tile that begins at this grid row; earlier rows are never needed again.
  /// The number of rows where no step reads the tensor.
  int64_t first_row(int64_t grid_row) const;
  /// One past the last row read for a tile that ends before this grid row; 0 where no step reads the tensor.
  int64_t last_row(int64_t grid_row) const;
  int64_t rows() const { return rows_; }  ///< of the tensor
  /// Whether a step reads every row for every tile.
  bool reads_whole() const;

 private:
  struct Reader {
    int32_t scale;          ///< of the tensor that the step makes
    int32_t before, after;  ///< halo of its tile, without rows that it has from the band before
    int64_t last_begin;     ///< where what it makes begins at the latest
    int32_t factor;         ///< between its rows and the kept tensor's
    int32_t reach;          ///< rows that it reads beyond those, on either side
    bool all;               ///< a barrier: every row, for every tile
  };
  std::vector<Reader> readers_;
  int32_t grid_scale_;
  int64_t rows_;
};

/// Blocks of keys, or of values, that live below the device, which are on it at one time: one that is read,
/// and one that comes meanwhile.
constexpr int64_t kStagedBlocks = 2;

/// Blocks of a kept tensor, per batch item, that the sweep writes first in band `band` of the pass
/// that writes it.
Interval blocks_acquired(const Graph& graph, const Pass& pass, const KeptTensor& kept, size_t band);

/// Blocks whose last rows band `band` of the writing pass writes: they leave for a tier below the device.
Interval blocks_completed(const Graph& graph, const Pass& pass, const KeptTensor& kept, size_t band);
/// Blocks that the steps of band `band` read.
Interval blocks_read(const RowReaders& readers, const Pass& pass, const KeptTensor& kept, size_t band);

/// A kept tensor as one pass sees it.
struct KeptInPass {
  const KeptTensor* kept = nullptr;
  bool written = false;   ///< this pass writes it
  bool leaves = false;    ///< blocks of it go back as the sweep leaves them behind
  int64_t begin_row = 0;  ///< what comes before is gone when the pass begins
  /// What is from this row on stays; all leaves where there is none.
  std::optional<int64_t> held_from{};
};

/// Of the latent, how many rows above the row from which lower parts compute anew what is kept above it they
/// are sure to find what they compute it from.
constexpr int64_t kRowsAboveLine = 4;
/// The first row of a tensor that stays for lower parts alone, where tensors are kept above a row of the
/// latent.
int64_t first_row_below(const Graph& graph, TensorId tensor, int64_t latent_rows);

/// The kept tensors of a pass. What another one takes over in place does not leave.
std::vector<KeptInPass> kept_in(const Graph& graph, const Plan& plan, size_t pass, const Sizes& sizes);
/// The first row of a tensor that the lower part of a pass reads, where the upper part may let go what comes
/// before.
int64_t first_row_of_lower_part(const Graph& graph, const Pass& lower, TensorId tensor, const Sizes& sizes);

/// Blocks of a tensor that leaves which are handed back after band `band`.
Interval blocks_released(const RowReaders& readers, const Pass& pass, const KeptInPass& entry,
                         int64_t block_count, size_t band);

/// The blocks of one kept tensor on the device while a sweep goes on, in bytes of all items. `graph`,
/// `pass` and the tensor must outlive it.
class LiveBlocks {
 public:
  LiveBlocks(const Graph& graph, const Pass& pass, const KeptInPass& entry, const Sizes& sizes);

  /// While those steps of a band run that come before the one that stores the tensor.
  int64_t before_store(size_t band) const;
  /// While those after it run; the same where nothing is written.
  int64_t after_store(size_t band) const;
  bool written() const { return written_; }

 private:
  int64_t first_in_flight(size_t band) const;
  int64_t acquired_before(size_t band) const;

  const Graph& graph_;
  const Pass& pass_;
  const KeptTensor& kept_;
  bool written_, leaves_, below_;
  int64_t begin_row_;
  std::optional<int64_t> held_from_;
  int64_t count_;
  RowReaders readers_;
  bool staged_;  ///< block by block, over and over
  int64_t item_block_bytes_, block_bytes_;
};

}  // namespace headroom
