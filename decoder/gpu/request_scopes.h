#pragma once

#include <cstdint>
#include <vector>

#include "decoder/gpu/gpu_memory.h"
#include "decoder/graph/graph.h"
#include "decoder/interpreter/events.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// Of a pass that lacks tiles which are like others: by column, and by chunk of frames, how many each stands
/// for beside itself.
struct LeftOut {
  std::vector<int64_t> columns, chunks;
};

/// The plan with one of all columns of tiles, and of all chunks of frames, that are like each other
/// (decoder/lowering/like_tiles.h).
Plan with_like_tiles_once(const Graph& graph, Plan plan, std::vector<LeftOut>& left_out);

/// Listens to a dry run and marks its requests. Passes begin, and with each tile a scope: most tiles make the
/// requests of the one before. Columns of tiles, and chunks of frames, that are like an earlier one repeat
/// it; of a plan that lacks these it counts what they would have asked for.
class RequestScopes final : public ForwardingEvents {
 public:
  /// `left_out`: by pass; empty where all tiles are run. All references must outlive it.
  RequestScopes(GpuMemory& memory, const Graph& graph, const Extent& latent,
                const std::vector<LeftOut>& left_out, EventSink* listener)
      : ForwardingEvents(listener), memory_(memory), graph_(graph), latent_(latent), left_out_(left_out) {}

  void pass_started(const Plan& plan, int32_t pass) override;
  void tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) override;
  /// Ends the last column. Returns how many requests tiles that were left out would have made.
  int64_t finish();
  /// The events that passes began with.
  const std::vector<size_t>& passes() const { return passes_; }

 private:
  /// Columns of a band, or chunks of a column.
  struct Tiles {
    std::vector<size_t> like;
    std::vector<int64_t> first_requests;  ///< of each
    bool repeats = false;                 ///< the one that runs is like an earlier one
    int64_t began = 0;                    ///< requests before it
    int64_t stands_for = 0;               ///< so many that were left out
  };

  void begin(Tiles& tiles, size_t number);
  void end_chunk();
  void end_column();
  int64_t requests() const { return memory_.requests().count(); }

  GpuMemory& memory_;
  const Graph& graph_;
  const Extent latent_;
  const std::vector<LeftOut>& left_out_;
  std::vector<size_t> passes_;
  Tiles columns_, chunks_;
  int64_t lacking_in_column_ = 0, lacking_ = 0;
};

}  // namespace headroom
