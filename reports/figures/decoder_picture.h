#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decoder/plan/stats.h"
#include "reports/figures/timeline.h"

// The decoder as a picture: the layer graph from the latent to the pixels, cut into the passes of a plan.
// A tensor that crosses the line between two passes is kept. Every other tensor is released with its tile.
//
//     pass 1   (conv_in) --> norm1 --> conv1 --> [conv1]         reads conv_in, keeps conv1
//                                        \-----> statistics ‖     the pass must end here
//     -------------------------------------------------------
//     pass 2   (conv1) --> norm2 --> conv2 --> add --> [res0]
//              (conv_in) ----------------------^
namespace headroom::reports {

enum class DrawnKind {
  operation,
  read,   ///< a tensor that an earlier pass kept, or the latent
  write,  ///< a tensor that this pass keeps, or the picture
};

/// A node in a pass: an operation or a tensor.
struct DrawnNode {
  DrawnKind kind{};
  OpId op{-1};          ///< set for operations
  TensorId tensor{-1};  ///< an operation's output, or the tensor that is read or written
  size_t pass = 0;
  bool again = false;  ///< recomputed: an earlier pass ran the operation too
  /// The operation's result (statistics or sums) is complete only at the end of the pass.
  bool ends_pass = false;
  /// The operation needs a whole tensor from an earlier pass. Example: attention.
  bool needs_whole = false;
  size_t column = 0;  ///< length of the longest path from the pass's inputs
  size_t lane = 0;    ///< position within its column
};

/// A tensor that goes from one node to another of the same pass.
struct DrawnEdge {
  size_t from = 0, to = 0;
  TensorId tensor{-1};
  bool skips = false;  ///< passes by other operations: a residual
};

struct DrawnPass {
  std::string name;
  std::string stage;     ///< the first part of its short name: "up3"
  int64_t channels = 0;  ///< of the last tensor that the pass makes
  Extent extent;         ///< frames, rows and columns of that tensor
  size_t first_node = 0, nodes = 0;
  MemoryUse use{};  ///< at the pass's peak
  int64_t peak_bytes = 0;
  std::vector<LiveEntry> live;  ///< at that moment, largest first
  size_t peak_node = SIZE_MAX;  ///< node that runs at the peak; SIZE_MAX: the pass has no tiles
  size_t peak_tile = 0;         ///< tile of the peak, counted row by row
  std::string peak_step;        ///< step at the peak: "conv decoder.conv_in halo 1"
  double seconds = 0;
  std::optional<PassStats> measured;
  bool decides_peak = false;
  /// The pass has to end here, because a later operation needs a whole tensor that it makes. Otherwise the
  /// plan chose to keep a tensor here.
  bool ends_at_barrier = false;
};

struct DrawnKept {
  TensorId tensor{-1};
  MemoryTier tier = MemoryTier::device;
  int64_t bytes = 0;
  size_t first_pass = 0, last_pass = 0;
  std::vector<size_t> read_in;
  TensorId in_place_of{-1};
  int64_t bytes_at_peak = 0;  ///< the tensor's bytes on the device at the plan's peak
  size_t lane = 0;            ///< tensors with overlapping lifetimes have different lanes
};

struct DecoderPicture {
  std::vector<DrawnPass> passes;
  std::vector<DrawnNode> nodes;  ///< pass by pass
  std::vector<DrawnEdge> edges;
  std::vector<DrawnKept> kept;  ///< by the pass that writes them
  size_t kept_lanes = 0;
  size_t peak_pass = 0;
  int64_t limit_bytes = 0;
};

/// `run` may be null; it must be a run of this plan (planner/explain/analyze.h).
DecoderPicture decoder_picture(const PlanDocument& document, const RunStats* run);

/// Label of a node: the short name without the stage of its pass.
std::string label_of(const DecoderPicture& picture, const DrawnNode& node, const Graph& graph);

/// "128 × 1024 × 1024"; several frames come before the rows.
std::string shape_text(int64_t channels, const Extent& extent);

}  // namespace headroom::reports
