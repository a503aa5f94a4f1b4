#include "decoder/schedule/peak.h"

#include <algorithm>

#include "decoder/operations/attention.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/storage.h"

namespace headroom {

LiveBytes live_throughout(const Graph& graph, const Plan& plan) {
  const Sizes sizes = sizes_of(graph, plan);
  const bool resident = plan.weights == WeightResidency::resident;
  LiveBytes live;
  if (resident)
    live.resident_weights = allocated_bytes(resident_weights_bytes(graph, sizes.storage()), sizes);
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

std::vector<SegmentBytes> block_bytes_by_segment(std::span<const Window> windows, const Interval& bands) {
  const auto first = static_cast<size_t>(bands.begin);
  std::vector<int64_t> live(static_cast<size_t>(bands.length()), 0);
  std::vector<SegmentBytes> segments;
  const auto end_segment = [&] {
    const auto most = std::max_element(live.begin(), live.end());
    segments.push_back({*most, first + static_cast<size_t>(most - live.begin())});
  };
  std::vector<const Window*> stored;
  for (const Window& window : windows) {
    for (size_t i = 0; i < live.size(); ++i) live[i] += window.bytes_before_store(first + i);
    if (window.store_step >= 0) stored.push_back(&window);
  }
  end_segment();
  std::sort(stored.begin(), stored.end(),
            [](const Window* a, const Window* b) { return a->store_step < b->store_step; });
  for (const Window* window : stored) {
    for (size_t i = 0; i < live.size(); ++i)
      live[i] += window->bytes_after_store(first + i) - window->bytes_before_store(first + i);
    end_segment();
  }
  return segments;
}

int64_t bytes_at(const Window& window, const SweepPoint& point) {
  const bool after =
      window.store_step < 0 || point.later_tile || static_cast<int32_t>(point.step) >= window.store_step;
  return after ? window.bytes_after_store(point.band) : window.bytes_before_store(point.band);
}

Peak peak_of(std::span<const SegmentBytes> blocks, std::span<const SegmentBytes> steps, bool several_tiles) {
  Peak peak;
  for (size_t k = 0; k < blocks.size(); ++k) {
    // During later tiles of a band, all of the band's blocks are already live.
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
      pass_weights_bytes(graph, pass_, pass_.convolutions, plan.weights, sizes_.storage()), sizes_);
  windows_ = windows_of(graph, plan, number, sizes_);
  std::vector<TensorId> below;
  for (const Window& window : windows_) {
    if (window.below_device()) below.push_back(window.use.tensor);
  }
  staged_ = staged_in(pass_, below);
}

Extent PassSweep::tile_of(size_t band) const {
  return {tile_.t, pass_.tiles.y[band].length(), tile_.x};
}

BandPlace PassSweep::place_of(size_t band) const {
  return pass_.carries(Axis::y) && band == 0 ? BandPlace::first : BandPlace::further_down;
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
  for (const Window& window : windows_) live.kept += bytes_at(window, point);
  live.step = steps_of(point.band)[point.step];
  return live;
}

Peak PassSweep::highest_in(const Interval& bands) const {
  const bool several_tiles = pass_.tiles.x.size() * pass_.tiles.t.size() > 1;
  return peak_of(block_bytes_by_segment(windows_, bands),
                 step_bytes_by_segment(pass_, steps_of(static_cast<size_t>(bands.begin))), several_tiles);
}

Peak PassSweep::peak_of_band(size_t band) const {
  const auto begin = static_cast<int64_t>(band);
  Peak peak = highest_in({begin, begin + 1});
  peak.bytes += throughout_.total();
  return peak;
}

Peak PassSweep::peak() const {
  const size_t bands = pass_.tiles.y.size();
  Peak peak;
  for (size_t begin = 0, end = 0; begin < bands; begin = end) {
    const auto same_height = [&](size_t band) {
      return place_of(band) == place_of(begin) &&
             pass_.tiles.y[band].length() == pass_.tiles.y[begin].length();
    };
    for (end = begin; end < bands && same_height(end);) ++end;
    const Peak highest = highest_in({static_cast<int64_t>(begin), static_cast<int64_t>(end)});
    if (highest.bytes > peak.bytes) peak = highest;
  }
  peak.bytes += throughout_.total();
  return peak;
}

PassSweep::StepTile PassSweep::tile_of_step(size_t number, size_t band) const {
  const Step& step = pass_.steps[number];
  const Extent tile = tile_of(band);
  StepTile made;
  made.carried_bytes = carried_bytes(graph_, pass_, step, tile, sizes_);
  if (!makes_tile(step)) return made;
  made.extent = largest_tile(graph_, pass_, step, {tile, place_of(band)}, sizes_);
  made.bytes = tile_bytes(graph_, step.tensor, made.extent, sizes_);
  return made;
}

std::vector<PassSweep::LiveTensor> PassSweep::kept(const SweepPoint& point) const {
  std::vector<LiveTensor> list;
  if (pass_.tiles.y.empty()) return list;
  for (const Window& window : windows_) list.push_back({window.use.tensor, bytes_at(window, point)});
  return list;
}

std::vector<PassSweep::LiveTensor> PassSweep::tiles(const SweepPoint& point) const {
  std::vector<LiveTensor> list;
  if (pass_.tiles.y.empty()) return list;
  const std::vector<Lifetime> lifetimes = tile_lifetimes(pass_);
  for (size_t made = 0; made < pass_.steps.size(); ++made) {
    const StepTile tile = tile_of_step(made, point.band);
    const int64_t bytes = tile.carried_bytes + (lifetimes[made].contains(point.step) ? tile.bytes : 0);
    if (bytes > 0) list.push_back({pass_.steps[made].tensor, bytes});
  }
  return list;
}

}  // namespace headroom
