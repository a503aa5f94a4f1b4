#include "decoder/lowering/peak.h"

#include <algorithm>

#include "decoder/lowering/attention.h"
#include "decoder/lowering/lifetimes.h"
#include "decoder/lowering/storage.h"
#include "decoder/lowering/weights_bytes.h"

namespace headroom {

LiveBytes live_throughout(const Graph& graph, const Plan& plan) {
  const Sizes sizes = sizes_of(graph, plan);
  const bool resident = plan.weights == WeightResidency::resident;
  LiveBytes live;
  if (resident)
    live.resident_weights = allocated_bytes(resident_weights_bytes(graph, sizes.storage()), sizes.device);
  live.latent = latent_bytes(graph, sizes);
  live.state = device_state_bytes(graph, sizes);
  live.picture = picture_bytes(graph, plan.request);
  live.reserve = plan.reserve_bytes - live.picture;
  return live;
}

std::vector<SegmentBytes> step_bytes_by_segment(const Pass& pass, const std::vector<StepBytes>& bytes) {
  std::vector<SegmentBytes> segments(1);
  for (size_t i = 0; i < pass.steps.size(); ++i) {
    if (acquires_blocks(pass.steps[i])) segments.push_back({0, i});
    if (bytes[i].total() > segments.back().bytes) segments.back() = {bytes[i].total(), i};
  }
  return segments;
}

BlockBytes block_bytes_by_band(const LiveBlocks& blocks, size_t bands) {
  BlockBytes bytes;
  bytes.before_store.reserve(bands);
  bytes.after_store.reserve(bands);
  for (size_t band = 0; band < bands; ++band) {
    const int64_t before = blocks.before_store(band);
    bytes.before_store.push_back(before);
    bytes.after_store.push_back(blocks.written() ? blocks.after_store(band) : before);
  }
  return bytes;
}

std::vector<SegmentBytes> block_bytes_by_segment(const std::vector<const BlockBytes*>& all,
                                                 const std::vector<const BlockBytes*>& stored,
                                                 const Interval& bands) {
  const auto first = static_cast<size_t>(bands.begin);
  std::vector<int64_t> live(static_cast<size_t>(bands.length()), 0);
  std::vector<SegmentBytes> segments;
  const auto end_segment = [&] {
    const auto most = std::max_element(live.begin(), live.end());
    segments.push_back({*most, first + static_cast<size_t>(most - live.begin())});
  };
  for (const BlockBytes* tensor : all) {
    for (size_t i = 0; i < live.size(); ++i) live[i] += tensor->before_store[first + i];
  }
  end_segment();
  for (const BlockBytes* tensor : stored) {
    for (size_t i = 0; i < live.size(); ++i)
      live[i] += tensor->after_store[first + i] - tensor->before_store[first + i];
    end_segment();
  }
  return segments;
}

Peak peak_of(std::span<const SegmentBytes> blocks, std::span<const SegmentBytes> steps, bool several_tiles) {
  Peak peak;
  for (size_t k = 0; k < blocks.size(); ++k) {
    // What later tiles of a band find is never less than what the first one found.
    const SegmentBytes& found = several_tiles ? blocks.back() : blocks[k];
    const int64_t bytes = found.bytes + steps[k].bytes;
    if (bytes > peak.bytes) peak = {bytes, {found.at, steps[k].at, several_tiles}};
  }
  return peak;
}

PassSweep::PassSweep(const Graph& graph, const Plan& plan, size_t number, const MemoryModel& model)
    : graph_(graph),
      pass_(plan.passes[number]),
      model_(model),
      sizes_(sizes_of(graph, plan)),
      tile_(longest_tile(pass_)),
      throughout_(live_throughout(graph, plan)) {
  throughout_.pass_weights = allocated_bytes(
      pass_weights_bytes(graph, pass_, pass_.convolutions, plan.weights, sizes_.storage()), sizes_.device);
  std::vector<TensorId> below;
  for (const KeptInPass& entry : kept_in(graph, plan, number, sizes_)) {
    const TensorId tensor = entry.kept->tensor;
    if (entry.kept->tier != MemoryTier::device) below.push_back(tensor);
    const auto store = std::find_if(pass_.steps.begin(), pass_.steps.end(), [&](const Step& step) {
      return acquires_blocks(step) && step.tensor == tensor;
    });
    // What is written without a store is in the blocks of the tensor that it replaces.
    if (entry.written && store == pass_.steps.end()) continue;
    const size_t store_step = entry.written ? store - pass_.steps.begin() : pass_.steps.size();
    stored_.push_back({tensor, LiveBlocks(graph, pass_, entry, sizes_), store_step});
  }
  staged_ = staged_in(pass_, below);
}

int64_t PassSweep::Stored::bytes_at(const SweepPoint& point) const {
  const bool after = point.later_tile || point.step >= store_step;
  return after ? blocks.after_store(point.band) : blocks.before_store(point.band);
}

Extent PassSweep::tile_of(size_t band) const {
  return {tile_.t, pass_.tiles.y[band].length(), tile_.x};
}

BandPlace PassSweep::place_of(size_t band) const {
  return pass_.carries_rows && band == 0 ? BandPlace::first : BandPlace::further_down;
}

const std::vector<StepBytes>& PassSweep::steps_of(size_t band) const {
  const Extent tile = tile_of(band);
  const auto [entry, is_new] = steps_.try_emplace({tile.y, place_of(band)});
  if (is_new) entry->second = step_bytes(graph_, pass_, {tile, place_of(band)}, sizes_, model_, staged_);
  return entry->second;
}

LiveBytes PassSweep::live(const SweepPoint& point) const {
  LiveBytes live = throughout_;
  if (pass_.tiles.y.empty()) return live;
  for (const Stored& tensor : stored_) live.kept += tensor.bytes_at(point);
  live.step = steps_of(point.band)[point.step];
  return live;
}

Peak PassSweep::peak() const {
  const size_t bands = pass_.tiles.y.size();
  std::vector<BlockBytes> bytes;
  for (const Stored& tensor : stored_) bytes.push_back(block_bytes_by_band(tensor.blocks, bands));
  std::vector<const BlockBytes*> all, stored;
  for (const BlockBytes& tensor : bytes) all.push_back(&tensor);
  for (size_t step = 0; step < pass_.steps.size(); ++step) {
    for (size_t i = 0; i < stored_.size(); ++i) {
      if (stored_[i].store_step == step) stored.push_back(&bytes[i]);
    }
  }
  const bool several_tiles = pass_.tiles.x.size() * pass_.tiles.t.size() > 1;
  Peak peak;
  for (size_t begin = 0, end = 0; begin < bands; begin = end) {
    const auto same_height = [&](size_t band) {
      return place_of(band) == place_of(begin) &&
             pass_.tiles.y[band].length() == pass_.tiles.y[begin].length();
    };
    for (end = begin; end < bands && same_height(end);) ++end;
    const Interval range{static_cast<int64_t>(begin), static_cast<int64_t>(end)};
    const Peak highest = peak_of(block_bytes_by_segment(all, stored, range),
                                 step_bytes_by_segment(pass_, steps_of(begin)), several_tiles);
    if (highest.bytes > peak.bytes) peak = highest;
  }
  peak.bytes += throughout_.total();
  return peak;
}

std::vector<PassSweep::LiveTensor> PassSweep::kept(const SweepPoint& point) const {
  std::vector<LiveTensor> list;
  if (pass_.tiles.y.empty()) return list;
  for (const Stored& tensor : stored_) list.push_back({tensor.tensor, tensor.bytes_at(point)});
  return list;
}

std::vector<PassSweep::LiveTensor> PassSweep::tiles(const SweepPoint& point) const {
  std::vector<LiveTensor> list;
  if (pass_.tiles.y.empty()) return list;
  const std::vector<Lifetime> lifetimes = tile_lifetimes(pass_);
  const Extent tile = tile_of(point.band);
  for (size_t made = 0; made < pass_.steps.size(); ++made) {
    const Step& step = pass_.steps[made];
    int64_t bytes = carried_bytes(graph_, pass_, step, tile, sizes_);
    if (lifetimes[made].contains(point.step))
      bytes += tile_bytes(graph_, step.tensor,
                          largest_tile(graph_, pass_, step, {tile, place_of(point.band)}, sizes_), sizes_);
    if (bytes > 0) list.push_back({step.tensor, bytes});
  }
  return list;
}

}  // namespace headroom
