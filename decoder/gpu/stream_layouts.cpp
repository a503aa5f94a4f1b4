#include "decoder/gpu/stream_layouts.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/gpu/gpu_device.h"
#include "decoder/graph/geometry.h"
#include "decoder/interpreter/interpreter.h"
#include "decoder/plan/sizes.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/storage.h"
#include "decoder/schedule/tiles.h"

namespace headroom {
namespace {

/// Share of the most live bytes by which the work's memory may be larger, for gaps.
constexpr double kGaps = 0.005;

/// True if the requests can use the offsets of the layout.
bool fits(const MemoryRequests& requests, const StreamLayouts::Layout& layout) {
  const auto &own = requests.events(), &others = layout.requests.events();
  return layout.placement.moves.empty() &&
         std::equal(own.begin(), own.end(), others.begin(), others.end(),
                    [](const MemoryRequests::Event& event, const MemoryRequests::Event& other) {
                      return event.number == other.number && event.bytes <= other.bytes &&
                             (event.bytes > 0) == (other.bytes > 0);
                    });
}

}  // namespace

/// A stream of a micro-batch on a device that records requests.
class StreamLayouts::DryStream {
 public:
  /// Records the places of the state, and their sizes, in `state`.
  DryStream(const Model& model, const Plan& micro_batch, StateSlots& state)
      : memory_(std::make_shared<GpuMemory>(state)),
        staging_(gpu_),
        weights_(model.graph, {}, micro_batch.request.dtype, nullptr, {none_, staging_}),
        device_(model.graph, micro_batch, *memory_, WeightSource{none_, &weights_}, staging_),
        scopes_(*memory_, model.graph, sizes_of(model.graph, micro_batch).latent),
        interpreter_(model, micro_batch, device_, nullptr, &scopes_) {}

  void go_to(const StreamFrames& place) {
    StreamState state = StreamState::without_values();
    interpreter_.move_state(state, place);
  }
  MemoryRequests run(const BlockFrames& block) {
    DiscardingSink nowhere({1, 1, 1, 1, 1});
    memory_->begin_pass();
    interpreter_.run_block(Array{}, 0, nowhere, block);
    scopes_.finish();
    return memory_->take_requests();
  }

 private:
  DryGpu gpu_;
  const HostWeights none_ = no_host_weights();
  const std::shared_ptr<GpuMemory> memory_;
  PinnedStaging staging_;
  GpuWeights weights_;
  DryDevice device_;
  RequestScopes scopes_;
  Interpreter interpreter_;
};

StreamLayouts::StreamLayouts(const Model& model, Plan plan, int64_t block)
    : model_(model), plan_(std::move(plan)), block_(block) {
  for (const KeptTensor& entry : plan_.kept) {
    if (entry.tier != MemoryTier::device)
      throw InputError(model.graph.tensor(entry.tensor).name + " is kept in " + name_of(entry.tier) +
                       "; a stream keeps every tensor on the device");
  }
  const bool reads_ahead = delay_frames(model.graph, plan_) > 0;
  for (int64_t item = 0; item < plan_.request.batch; item += plan_.micro_batch) {
    Plan micro_batch = plan_of_micro_batch(plan_, item);
    const int64_t items = micro_batch.micro_batch;
    if (micro_batches_.contains(items)) continue;
    MicroBatch& own = micro_batches_[items];
    own.plan = std::move(micro_batch);
    // Steps that read frames ahead begin a clip with longer tiles. Their length depends on the first block's.
    for (int64_t first = reads_ahead ? 1 : block; first <= block; ++first) run_clip(own, {first, block});
    own.state.arrange();
  }
  place_all();
}

void StreamLayouts::run_clip(MicroBatch& own, const Blocks& blocks) const {
  DryStream dry(model_, own.plan, own.state);
  StreamFrames frames(model_.graph, own.plan, block_);
  Shape last;
  int64_t same = 0;
  const auto run = [&](int64_t latent_frames, bool ends) {
    const StreamFrames before = frames;
    const BlockFrames block = frames.advance(latent_frames, ends);
    Shape shape = shape_of(before, block);
    same = shape == last ? same + 1 : 0;
    own.layouts[shape].requests = dry.run(block);
    last = std::move(shape);
  };
  run(blocks.first, false);
  while (same < 2 || frames.emitted() == 0) run(frames.latent_frames() + blocks.others, false);
  do {
    run(frames.latent_frames(), true);
  } while (!frames.complete());
}

void StreamLayouts::place_all() {
  int64_t live_bytes = 0;
  for (const auto& [items, own] : micro_batches_) {
    for (const auto& [shape, layout] : own.layouts)
      live_bytes = std::max(live_bytes, most_live_bytes(layout.requests, live_ranges_of(layout.requests)));
  }
  const auto enough = live_bytes + static_cast<int64_t>(double(live_bytes) * kGaps);
  for (auto& [items, own] : micro_batches_) {
    for (auto& [shape, layout] : own.layouts) {
      layout.placement = find_placement(layout.requests, enough);
      work_bytes_ = std::max(work_bytes_, layout.placement.bytes);
    }
  }
}

StreamMemory StreamLayouts::memory(const ReservationSizes& sizes) const {
  StreamMemory found;
  found.delay_frames = delay_frames(model_.graph, plan_);
  found.weights_bytes = aligned_bytes(resident_weights_bytes(model_.graph, storage_of(plan_.request)));
  found.reserve_bytes = bytes_beside_reservation(model_.graph, plan_.request);
  int64_t state = 0;
  for (int64_t item = 0; item < plan_.request.batch; item += plan_.micro_batch)
    state += this->state(plan_of_micro_batch(plan_, item)).bytes();
  found.state_bytes = (state + sizes.page_bytes - 1) / sizes.page_bytes * sizes.page_bytes;
  found.peak_bytes = sizes.taken_bytes(found.weights_bytes + found.state_bytes + work_bytes_);
  return found;
}

const StreamLayouts::Layout& StreamLayouts::of(const Plan& micro_batch, const StreamFrames& before,
                                               const BlockFrames& block) {
  MicroBatch& own = micro_batches_.at(micro_batch.micro_batch);
  Shape shape = shape_of(before, block);
  if (const auto known = own.layouts.find(shape); known != own.layouts.end()) return known->second;
  StateSlots state;
  DryStream dry(model_, own.plan, state);
  dry.go_to(before);
  Layout layout{dry.run(block), {}};
  own.state.require(state);
  const auto larger = std::find_if(own.layouts.begin(), own.layouts.end(),
                                   [&](const auto& other) { return fits(layout.requests, other.second); });
  layout.placement =
      larger != own.layouts.end() ? larger->second.placement : find_placement(layout.requests, work_bytes_);
  if (layout.placement.bytes > work_bytes_) {
    throw LimitExceeded("a block of these frames takes " + std::to_string(layout.placement.bytes) +
                        " bytes for work, and " + std::to_string(work_bytes_) + " are planned");
  }
  return own.layouts.emplace(std::move(shape), std::move(layout)).first->second;
}

StreamLayouts::Shape StreamLayouts::shape_of(const StreamFrames& before, const BlockFrames& block) const {
  Shape shape;
  const Extent latent{block.latent_frames, 1, 1};
  for (size_t number = 0; number < plan_.passes.size(); ++number) {
    const Pass& pass = plan_.passes[number];
    const std::vector<Interval>& chunks = block.chunks[number];
    shape.push_back(std::ssize(chunks));
    if (chunks.empty()) continue;
    shape.push_back(static_cast<int64_t>(chunks.back().end >= extent_at(pass.scale, latent).t));
    for (const Interval& chunk : chunks) {
      shape.push_back(static_cast<int64_t>(chunk.begin > 0));
      for (const Step& step : pass.steps) {
        const TileAxis axis = tile_axis(model_.graph, pass, step, measured_tensor(step), Axis::t, latent);
        shape.push_back(axis.made(chunk).length());
        shape.push_back(axis.present(chunk).length());
      }
    }
  }
  const std::map<TensorId, Interval> earlier = before.tails();
  for (const auto& [tensor, frames] : block.kept)
    shape.insert(shape.end(),
                 {frames.length(), earlier.at(tensor).length(), block.tails.at(tensor).length()});
  return shape;
}

}  // namespace headroom
