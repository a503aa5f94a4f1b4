#pragma once

#include <cstdint>
#include <vector>

#include "decoder/gpu/memory/gpu_memory.h"
#include "decoder/graph/graph.h"
#include "decoder/interpreter/events.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// Listens to a dry run and marks passes, scopes and repeats in its requests. Each tile is a scope, since
/// most tiles make the same requests as the tile before. A column of tiles, or a chunk of frames, that makes
/// the requests of an earlier one is marked as its repeat.
class RequestScopes final : public ForwardingEvents {
 public:
  /// All references must outlive it.
  RequestScopes(GpuMemory& memory, const Graph& graph, const Extent& latent, EventSink* listener)
      : ForwardingEvents(listener), memory_(memory), graph_(graph), latent_(latent) {}

  void pass_started(const Plan& plan, int32_t pass) override;
  void tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) override;
  /// Ends the last column.
  void finish() { end_column(); }
  /// The first event of each pass.
  const std::vector<size_t>& passes() const { return passes_; }

 private:
  /// Columns of a band, or chunks of a column.
  struct Tiles {
    std::vector<size_t> like;
    std::vector<int64_t> first_requests;  ///< first request of each
    bool repeats = false;                 ///< the current one repeats an earlier one
  };

  void begin(Tiles& tiles, size_t number);
  void end_chunk();
  void end_column();

  GpuMemory& memory_;
  const Graph& graph_;
  const Extent latent_;
  std::vector<size_t> passes_;
  Tiles columns_, chunks_;
};

}  // namespace headroom
