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
  write,  ///< a tensor that is kept from here on, or the picture
};

/// Something that is drawn in a pass.
struct DrawnNode {
  DrawnKind kind{};
  OpId op{-1};          ///< of an operation
  TensorId tensor{-1};  ///< what it makes; of the others the tensor itself
  size_t pass = 0;
  bool again = false;  ///< an operation that was carried out before, and is once more
  /// Its result (statistics or sums) is complete only at the end of the pass.
  bool ends_pass = false;
  /// It needs a whole tensor, which an earlier pass must have made. Example: attention.
  bool needs_whole = false;
  size_t column = 0;  ///< within its pass: the longest path to it from what the pass reads
  size_t lane = 0;    ///< number among those of its column
};

/// A tensor that goes from one node to another of the same pass.
struct DrawnEdge {
  size_t from = 0, to = 0;
  TensorId tensor{-1};
  bool skips = false;  ///< past other operations: a residual
};

struct DrawnPass {
  std::string name;
  std::string stage;     ///< the first part of its short name: "up3"
  int64_t channels = 0;  ///< of what it makes last
  Extent extent;         ///< the same: frames, rows, columns
  size_t first_node = 0, nodes = 0;
  MemoryUse use{};  ///< at its highest moment
  int64_t peak_bytes = 0;
  std::vector<LiveEntry> live;  ///< at that moment, largest first
  size_t peak_node = SIZE_MAX;  ///< what runs at that moment; none where there are no tiles
  size_t peak_tile = 0;         ///< where that moment is, counted row by row
  std::string peak_step;        ///< what runs then: "conv decoder.conv_in halo 1"
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
  int64_t bytes_at_peak = 0;  ///< of it on the device when the plan's peak is
  size_t lane = 0;            ///< kept tensors whose passes overlap have different ones
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

/// "128 × 1024 × 1024", with frames before the rows where there are several.
std::string shape_text(int64_t channels, const Extent& extent);

}  // namespace headroom::reports
