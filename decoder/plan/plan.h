#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decoder/devices/device_record.h"
#include "decoder/graph/model.h"
#include "decoder/plan/engine_choice.h"
#include "decoder/plan/tf32.h"

// A plan splits a decode into passes. A pass runs one list of steps, its tile program, on every tile of a
// grid. It sweeps over bands of rows from top to bottom, and along a band from left to right.
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
// A step's tile covers the grid's tile and a halo, which later steps read. Halos of neighbouring tiles
// overlap, and both tiles compute the same values there. If a halo leaves the picture, the tile is padded by
// `pad` positions of zeros or copies (`edges`), provided that a convolution reads them. Otherwise the tile
// ends at the picture's edge.
// A tile is freed after its last reader. Tensors that later passes read are kept whole, in blocks of rows
// (`KeptTensor`). Blocks are allocated and freed band by band.
// Tiles of clips are also cut along the time, into chunks. A tile runs all of its chunks before the next tile
// begins. The next chunk begins with the last frames of the one before (`Pass`).
namespace headroom {

/// The decode or encode that a plan is for: its model, extents, dtype and device. Fixes the sizes of all
/// tensors.
struct Request {
  std::string model;  ///< the --model argument that the plan was made for
  int64_t width_pixels = 0;
  int64_t height_pixels = 0;
  int64_t frames = 1;
  int64_t batch = 1;
  Dtype dtype = Dtype::fp32;
  DeviceKind device = DeviceKind::cpu;
  Direction direction = Direction::decode;
  Tf32 tf32{};  ///< nothing unless the dtype is fp32 and the device is a GPU
  /// Dtype of an output that stays in memory and counts in the peak. Unset: the decode writes the output to
  /// a file as it goes.
  std::optional<Dtype> picture_dtype{};
  friend bool operator==(const Request&, const Request&) = default;
};
/// The dtype and TF32 in words: "bf16", or "fp32 with TF32 in convolutions".
std::string arithmetic_of(const Request& request);
/// Format that values are rounded to on their way: "bf16", "fp16" or "TF32". Empty for full fp32.
std::string rounding_of(const Request& request);
/// Empty unless the request has TF32 and another dtype than fp32 or no GPU. Then the text states the rule.
std::string wrong_tf32(const Request& request);
/// A picture goes to its file band by band. A latent is written when it is whole, so it lies in memory and
/// counts in the peak.
void set_direction(Request& request, Direction direction);

/// When parameters are in device memory.
enum class WeightResidency {
  resident,  ///< all parameters, for the whole decode
  per_pass,  ///< a pass's parameters, loaded before it and dropped after it
};
const char* name_of(WeightResidency residency);

/// The environment in which costs were measured. The texts are empty if costs are assumed.
struct Environment {
  std::string device;     ///< processor and threads
  std::string libraries;  ///< with versions
  friend bool operator==(const Environment&, const Environment&) = default;
};

/// Correction of predicted seconds by earlier decodes on this machine. It changes no decision of a plan.
struct LearntSeconds {
  int32_t decodes = 0;  ///< 0: none were measured, and the ratio is 1
  double ratio = 1;     ///< of measured to predicted seconds
  friend bool operator==(const LearntSeconds&, const LearntSeconds&) = default;
};

/// One of several ranks that decode one request together. A rank owns some rows of the latent and the rows of
/// every tensor that correspond to them. Every row has exactly one owner. A rank receives rows that it does
/// not own from their owner.
struct RankShare {
  int32_t rank = 0, ranks = 1;
  Interval latent_rows{};  ///< the rows that it owns. Empty if there are more ranks than rows. Not used with
                           ///< one rank
  bool alone() const { return ranks == 1; }
  friend bool operator==(const RankShare&, const RankShare&) = default;
};

/// A tensor that is stored whole, in blocks. A block is a band of `block_rows` rows of one batch item. With
/// several ranks, each rank stores its own rows and the rows that it reads from others. The input of the
/// graph (a latent or a picture) is always on the device. Lists of kept tensors omit it.
struct KeptTensor {
  TensorId tensor{-1};
  int64_t block_rows = 0;
  int32_t first_pass = 0;  ///< the pass that writes it
  int32_t last_pass = 0;  ///< the last pass that reads it. This pass frees the blocks as its sweep moves past
                          ///< them
  /// The tensor whose blocks this one overwrites position by position (a residual added in place). -1: it has
  /// its own blocks.
  TensorId in_place_of{-1};
  MemoryTier tier = MemoryTier::device;  ///< `device` if in_place_of is set
  /// Rows that this rank stores; the first one begins the first block. Unset: all rows.
  std::optional<Interval> rows{};
  friend bool operator==(const KeptTensor&, const KeptTensor&) = default;
};

/// Destination of a step's results.
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

/// One step of a tile program. Its tile covers the pass's tile, converted to the tensor's positions and
/// widened by `halo`. It is clipped to the picture widened by `pad`.
/// Along the time, the step runs ahead of its chunk by `halo.after` frames. It makes the frames of its chunk
/// shifted by this number, up to the clip's last frame. In the first chunk it also makes all frames before
/// these. The tile begins with `halo.before` further frames, copied from the previous chunk. In a pass that
/// carries rows, rows and bands work like frames and chunks.
struct Step {
  OpKind kind{};
  OpId op{-1};  ///< the operation carried out; -1 for gather, store and emit
  TensorId tensor{
      -1};  ///< the tensor that the step makes: a tile of it. Statistics, store and accumulate make it whole
  std::vector<Operand> inputs{};
  Halo halo{};
  Axes<int32_t> pad{};         ///< positions outside the picture that the tile includes on each side
  Edges edges = Edges::zeros;  ///< values of these positions; zeros if there are none
  /// The add that a convolution fuses; only on CUDA. -1: none. `tensor` is then the sum, and the step's last
  /// input is the add's other operand.
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

/// The tensor whose positions measure a step's work: its result, or the input of statistics.
TensorId measured_tensor(const Step& step);

/// One sweep over all tiles: band by band of rows, tile by tile in a band, and chunk by chunk of frames in a
/// tile. Every chunk runs all steps. A step finds earlier frames in its own tile of the previous chunk, so it
/// computes no frame twice.
struct Pass {
  std::string name;
  /// Resolution of the tile grid. Its rows and columns are the latent's times this. Its frames are those of a
  /// tensor with this Tensor::scale.
  Axes<int32_t> scale{1, 1, 1};
  /// Half-open intervals along each axis, in grid positions. Tiles are the product of these intervals.
  Axes<std::vector<Interval>> tiles;
  std::vector<Step> steps;
  /// True if tiles carry positions along this axis: a tile copies positions from the tile before it. Along
  /// the time they always do, from chunk to chunk. Along rows they do from band to band if `carries_rows` is
  /// set.
  bool carries(Axis axis) const { return axis == Axis::t || (axis == Axis::y && carries_rows); }
  /// The axis along which tiles carry positions: rows if the pass carries rows, otherwise the time. A pass
  /// that carries rows has only one chunk.
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

/// True for an add that reuses the tile of its first operand. An add that carries frames or rows from earlier
/// tiles needs its own tile, because the operand's tile lacks them.
bool takes_over(const Pass& pass, const Step& step);

/// How a decode runs under a limit. Plain data; docs/formats.md describes the file.
struct Plan {
  Request request;
  RankShare share;
  int64_t limit_bytes = 0;
  /// Batch items that go through all passes together. The batch is split into micro-batches of this size.
  int64_t micro_batch = 1;
  WeightResidency weights = WeightResidency::resident;
  int64_t weights_bytes = 0;  ///< largest size of the packed parameters on the device at one time
  /// Allowance for library allocations outside the pool and for a picture that stays in memory.
  int64_t reserve_bytes = 0;
  int64_t host_limit_bytes = 0;  ///< limit on kept tensors in host memory plus host_weights_bytes
  /// Pinned host memory that holds all parameters; passes on a GPU load theirs from it. 0: they load from
  /// pageable memory, which takes more host time.
  int64_t host_weights_bytes = 0;
  int64_t scratch_limit_bytes = 0;  ///< limit on kept tensors in the scratch file
  std::string scratch_folder;       ///< folder of the scratch file; empty if the plan keeps nothing in it
  int64_t predicted_peak_bytes = 0;
  double predicted_seconds = 0;
  /// Nine of ten decodes end between these, given the profile's precision. Both are 0 without a profile.
  double predicted_seconds_low = 0, predicted_seconds_high = 0;
  double bound_seconds = 0;  ///< proven lower bound on the time of every plan in the plan space
  bool optimal = false;      ///< proven fastest in the plan space of docs/planning.md
  bool exact = true;
  bool assumed = true;      ///< costs are stated assumptions, not a profile of this machine
  LearntSeconds learnt;     ///< all seconds of the plan are the costs' seconds times its ratio
  Environment environment;  ///< in which the profile was measured
  /// Engines that the profile found to be faster than a GPU library's own choice. Convolutions without an
  /// entry run by the library's choice. They change rounding and time only.
  std::vector<EngineChoice> engines;
  std::vector<KeptTensor> kept;
  std::vector<Pass> passes;
  friend bool operator==(const Plan&, const Plan&) = default;
};

// A decode may run on several ranks: one process per device, on one machine or several. Each rank runs the
// same passes on its own rows (RankShare). Ranks exchange four kinds of data:
//
//     rows              a pass reads some rows beyond a rank's own. Its neighbours send them when the pass
//                       that writes the tensor is done
//     keys and values   attention reads them whole, so every rank sends its rows to all others
//     statistics        of each pass that takes some: every rank sends its own to all others, which merge
//                       them in rank order
//     output            every rank's rows to rank 0, which writes the file, when all passes are done
//
// Keys and values are kept tensors. So their rows are RowTransfers too.

/// Rows of a kept tensor that their owner sends to a rank that reads them.
struct RowTransfer {
  int32_t pass = 0;  ///< the pass that writes the tensor; the rows are sent after it
  TensorId tensor{-1};
  int32_t from = 0, to = 0;
  Interval rows;
  friend bool operator==(const RowTransfer&, const RowTransfer&) = default;
};

/// Bytes that one rank sends in a whole decode.
struct SentBytes {
  int64_t rows_bytes = 0;
  int64_t statistics_bytes = 0;  ///< to all other ranks together
  int64_t output_bytes = 0;      ///< to rank 0: fp32
  int64_t total() const { return rows_bytes + statistics_bytes + output_bytes; }
  friend bool operator==(const SentBytes&, const SentBytes&) = default;
};

/// How one decode runs: a plan for each rank, each under its own limit. A decode outside a group of ranks has
/// one plan, and `sent` is empty. Plain data; docs/formats.md describes the file.
struct Plans {
  Request request;
  Link link;                ///< between ranks
  std::vector<Plan> plans;  ///< by rank. All have the same passes and kept tensors, each its own limit
  /// In sending order: pass by pass, and in each pass transfers to later ranks first.
  std::vector<RowTransfer> transfers;
  std::vector<SentBytes> sent;   ///< by rank
  double predicted_seconds = 0;  ///< of the slowest rank, including communication
  bool for_ranks() const { return plans.size() != 1 || !sent.empty(); }
  int64_t peak_bytes() const;  ///< largest predicted peak of any rank
  int64_t sent_bytes() const;  ///< by all ranks together
  friend bool operator==(const Plans&, const Plans&) = default;
};
/// A list of one plan.
Plans alone(Plan plan);

}  // namespace headroom
