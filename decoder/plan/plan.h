#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/plan/convolution_algorithm.h"

// A plan cuts a decode into passes. A pass runs one list of steps, its tile program, on every tile of a grid:
// band of rows by band of rows, and along a band from left to right.
//
//       0        8        16  columns
//     0 +--------+--------+               The tile program on tile 2, which has rows 4 to 8 of the grid:
//       | tile 0 | tile 1 |  band 0
//     4 +--------+--------+               rows     3   4   5   6   7   8   9
//       | tile 2 | tile 3 |  band 1       norm     [=======================]   with a halo of 1
//     8 +--------+--------+               conv         [===============]       reads the halo
//       | tile 4 | tile 5 |  band 2       add          [===============]       takes conv's tile over
//    10 +--------+--------+               store        [===============]       writes blocks of rows
//
// A step's tile covers the grid's tile and a halo: what later steps read beyond it. Where halos of neighbours
// overlap, both compute the same values. Where a halo leaves the picture, the tile has `pad` positions more
// if a convolution reads them, zeros or copies (`edges`), and ends there if not. Tiles are gone after their
// last reader. What outlives a tile is written whole, in blocks of rows (`KeptTensor`); blocks come and go
// band by band. Of clips, a tile is also cut along the time, into chunks that are swept one after the other
// before the next tile begins; each hands its last frames on to the next (`Pass`).
namespace headroom {

/// The kind of device that a plan is for.
enum class DeviceKind {
  cpu,   ///< the process's own memory
  cuda,  ///< a GPU's
};
const char* name_of(DeviceKind device);
/// Throws InputError unless `text` is cpu or cuda.
DeviceKind parse_device(const std::string& text);
/// The algorithms for convolutions that a device has: the direct one, then the faster one where there is
/// another.
std::vector<ConvolutionAlgorithm> algorithms_on(DeviceKind device);

/// The decode that a plan is for: its model, extents, dtype and device. Fixes the sizes of all tensors.
struct Request {
  std::string model;  ///< the --model argument that the plan was made for
  int64_t width_pixels = 0;
  int64_t height_pixels = 0;
  int64_t frames = 1;
  int64_t batch = 1;
  Dtype dtype = Dtype::fp32;
  DeviceKind device = DeviceKind::cpu;
  /// Dtype of a picture that stays in memory and counts in the peak. Unset: it goes to a file as it is made.
  std::optional<Dtype> picture_dtype{};
  friend bool operator==(const Request&, const Request&) = default;
};

/// The memory that stores a kept tensor. For a tensor in host memory or in the scratch file, the device has
/// only the blocks that a sweep is about to read or has just written.
enum class MemoryTier {
  device,
  host,     ///< memory of the host, where the device has its own
  scratch,  ///< a file
};
const char* name_of(MemoryTier tier);

/// When parameters are on the device.
enum class WeightResidency {
  resident,  ///< all of them, throughout
  per_pass,  ///< those of a pass, brought in before it and dropped after it
};
const char* name_of(WeightResidency residency);

/// The environment that measured costs hold for. The texts are empty if costs are assumed.
struct Environment {
  std::string device;     ///< processor and threads
  std::string libraries;  ///< with versions
  friend bool operator==(const Environment&, const Environment&) = default;
};

/// One of several ranks that decode one request together. Each owns the rows of every tensor that some rows
/// of the latent become: no row has two owners, and what a rank does not own it gets from the one that does.
struct RankShare {
  int32_t rank = 0, ranks = 1;
  Interval latent_rows{};  ///< owned; none where there are more ranks than rows. Means nothing for one rank
  bool alone() const { return ranks == 1; }
  friend bool operator==(const RankShare&, const RankShare&) = default;
};

/// A tensor that is stored whole, in row-band blocks of `block_rows` rows of one batch item each. Of several
/// ranks each stores the rows that it owns and those that it reads of others.
/// The latent is always kept and not listed.
struct KeptTensor {
  TensorId tensor{-1};
  int64_t block_rows = 0;
  int32_t first_pass = 0;  ///< the pass that writes it
  int32_t last_pass = 0;   ///< the last pass that reads it; it hands the blocks back as it sweeps past them
  /// The tensor whose blocks it takes over position by position as it is written (a residual added in place);
  /// -1 where it has blocks of its own.
  TensorId in_place_of{-1};
  MemoryTier tier = MemoryTier::device;  ///< the device where blocks are taken over
  /// Rows that one of several ranks stores, the first of which begins the first block; unset: all.
  std::optional<Interval> rows{};
  friend bool operator==(const KeptTensor&, const KeptTensor&) = default;
};

/// Destination of the values that a step makes position by position.
enum class StepTarget {
  tile,  ///< a tile for later steps of the pass
  /// The blocks of the kept tensor. There is no tile: later steps read the blocks. Only for convolutions on
  /// CUDA.
  blocks,
  /// Like `blocks`, but onto the blocks of the add's other operand: each position becomes the sum.
  in_place,
};
const char* name_of(StepTarget target);

/// An input of a step: the tile that an earlier step of the pass made, or a kept tensor.
struct Operand {
  TensorId tensor{-1};
  int32_t step = -1;  ///< index of the step that made the tile; -1 reads the kept tensor
  friend bool operator==(const Operand&, const Operand&) = default;
};

/// One step of a tile program. The tile it makes covers the image of the pass's tile in the tensor's
/// positions, widened by `halo`, cut to the picture widened by `pad`. Along the time `halo.after` says by how
/// many frames the step runs ahead: it makes the frames of its chunk's image moved by so many, none behind
/// the clip's last, and in the first chunk all that come before them too. `halo.before` counts frames before
/// these, which the tile has from the chunk before. In a pass that carries rows the same holds for rows, of
/// bands in place of chunks.
struct Step {
  StepKind kind{};
  OpId op{-1};  ///< the operation carried out; -1 for gather, store and emit
  TensorId tensor{
      -1};  ///< what the step makes: a tile of it, or for statistics, store and accumulate the whole
  std::vector<Operand> inputs{};
  Halo halo{};
  Axes<int32_t> pad{};         ///< positions outside the picture that are present on each side
  Edges edges = Edges::zeros;  ///< what stands there; zeros where there are none
  /// The add that a convolution carries out on its way: `tensor` is what that makes, and its other operand
  /// is the step's last input. -1 where there is none; on CUDA alone.
  OpId add{-1};
  StepTarget target = StepTarget::tile;
  friend bool operator==(const Step&, const Step&) = default;
};

/// True if the step makes a tile, which later steps of the pass can read.
bool makes_tile(const Step& step);
/// True if the step acquires device blocks for the tensor that it makes.
bool acquires_blocks(const Step& step);
/// True if the operand is the one that a convolution adds to its sums.
bool is_residual(const Step& step, size_t input);

/// The tensor whose positions a step's work is counted over: its result, or the one it takes statistics of.
TensorId measured_tensor(const Step& step);

/// One sweep of tiles, band of rows by band of rows, tile by tile along a band, and of each tile chunk of
/// frames by chunk of frames. Every chunk runs all steps. What a step reads of earlier frames it finds in its
/// own tile of the chunk before, so no frame is computed twice.
struct Pass {
  std::string name;
  /// Resolution of the tile grid: its rows and columns are the latent's times this, its frames those of the
  /// tensors of this scale (Tensor::scale).
  Axes<int32_t> scale{1, 1, 1};
  /// Half-open intervals along each axis, in grid positions; tiles are their product.
  Axes<std::vector<Interval>> tiles;
  std::vector<Step> steps;
  /// True if tiles hand positions on along this axis. Along the time they always do, from chunk to chunk.
  /// Along rows they do from band to band if `carries_rows` is set.
  bool carries(Axis axis) const { return axis == Axis::t || (axis == Axis::y && carries_rows); }
  /// The axis along which tiles hand positions on. A pass that carries rows has one chunk, so it is rows
  /// there, and the time otherwise.
  Axis carried_axis() const { return carries_rows ? Axis::y : Axis::t; }
  /// True if a tile copies the rows that it needs above its own from the tile above it. Other passes
  /// recompute them. Only for pictures, and only with one rank.
  bool carries_rows = false;
  ConvolutionAlgorithms convolutions;
  int64_t predicted_peak_bytes = 0;
  double predicted_seconds = 0;
  double predicted_flops = 0;
  friend bool operator==(const Pass&, const Pass&) = default;
};

/// True for an add that is computed in the tile of its first operand. One with frames of the chunk before, or
/// rows of the band before, which that tile lacks, has a tile of its own.
bool takes_over(const Pass& pass, const Step& step);

/// How a decode is run under a limit. Plain data; docs/formats.md describes the file.
struct Plan {
  Request request;
  RankShare share;
  int64_t limit_bytes = 0;
  /// Batch items that go through all passes together; the batch is run in such micro-batches.
  int64_t micro_batch = 1;
  WeightResidency weights = WeightResidency::resident;
  int64_t weights_bytes = 0;  ///< packed parameters on the device at one time, at the most
  /// For what libraries allocate outside the pool, and a picture that stays in memory.
  int64_t reserve_bytes = 0;
  int64_t host_limit_bytes = 0;  ///< for kept tensors in host memory, and host_weights_bytes
  /// Pinned host memory for all parameters, from which passes on a GPU bring in theirs. 0: from pageable
  /// memory, which takes more of the host's time.
  int64_t host_weights_bytes = 0;
  int64_t scratch_limit_bytes = 0;  ///< for kept tensors in the scratch file
  std::string scratch_folder;       ///< where that file is made; empty where nothing is kept there
  int64_t predicted_peak_bytes = 0;
  double predicted_seconds = 0;
  /// Nine of ten decodes end between these, given the profile's precision. Both are 0 without a profile.
  double predicted_seconds_low = 0, predicted_seconds_high = 0;
  double bound_seconds = 0;  ///< no plan of the space is faster: what has been proven so far
  bool optimal = false;      ///< proven fastest in the plan space of docs/planning.md
  bool exact = true;
  bool assumed = true;      ///< costs are stated assumptions, not a profile of this machine
  Environment environment;  ///< of that profile
  std::vector<KeptTensor> kept;
  std::vector<Pass> passes;
  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace headroom
