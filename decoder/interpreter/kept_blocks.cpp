#include "decoder/interpreter/kept_blocks.h"

#include <algorithm>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/graph/geometry.h"
#include "decoder/schedule/blocks.h"

namespace headroom {

StagedBlocks::StagedBlocks(const Graph& graph, const TensorUse& use, const Sizes& sizes, Device& device)
    : tensor_(use.tensor),
      block_rows_(use.block_rows),
      picture_(extent_of(graph.tensor(use.tensor), sizes.latent)),
      channels_(graph.tensor(use.tensor).channels),
      count_(block_count(graph, use, sizes)),
      frame_bytes_(use.block_rows * picture_.x * channels_ * bytes_per_element(sizes.dtype)),
      dtype_(sizes.dtype) {
  const int64_t bytes = kept_block_bytes(graph, use, sizes);
  for (int64_t i = 0; i < places(); ++i) places_[static_cast<size_t>(i)] = device.allocate(bytes, {});
}

int64_t StagedBlocks::places() const {
  return std::min(count_, kStagedBlocks);
}

BlockTransfers::Block StagedBlocks::fetched(int64_t item, int64_t block, int64_t frames,
                                            int64_t place) const {
  const int64_t position = item * count_ + block;
  return {.memory = places_[static_cast<size_t>(place)].get(),
          .bytes = frames * frame_bytes_,
          .tensor = tensor_,
          .position = position};
}

MapView StagedBlocks::view(int64_t block, int64_t place) const {
  const int64_t first = block * block_rows_;
  return {.region = {{0, picture_.t}, {first, std::min(picture_.y, first + block_rows_)}, {0, picture_.x}},
          .channels = channels_,
          .block_rows = block_rows_,
          .blocks_per_item = 1,
          .blocks = {places_[static_cast<size_t>(place)].get()},
          .dtype = dtype_};
}

KeptMap::KeptMap(const KeptTensor& kept, const Region& region, int64_t channels, int64_t items, Dtype dtype,
                 Allocate allocate)
    : allocate_(std::move(allocate)) {
  const int64_t blocks = (region.y.length() + kept.block_rows - 1) / kept.block_rows;
  view_ = {.region = region,
           .channels = channels,
           .block_rows = kept.block_rows,
           .blocks_per_item = blocks,
           .blocks = {},
           .dtype = dtype};
  view_.blocks.resize(static_cast<size_t>(items * blocks), nullptr);
  storage_.resize(view_.blocks.size());
}

void KeptMap::acquire(const Interval& blocks) {
  const int64_t items = static_cast<int64_t>(storage_.size()) / view_.blocks_per_item;
  for (int64_t item = 0; item < items; ++item) {
    for (int64_t b = blocks.begin; b < blocks.end; ++b) {
      const auto i = static_cast<size_t>(item * view_.blocks_per_item + b);
      if (storage_[i]) continue;
      const int64_t bytes = view_.region.t.length() * view_.block_rows * view_.region.x.length() *
                            view_.channels * bytes_per_element(view_.dtype);
      const void* before = b > 0 ? storage_[i - 1].get() : nullptr;
      storage_[i] = allocate_(i, bytes, {before, view_.blocks_per_item - 1 - b});
      view_.blocks[i] = storage_[i].get();
    }
  }
}

void KeptMap::release(const Interval& blocks) {
  if (blocks.length() == 0) return;  // a rank without rows
  const int64_t items = static_cast<int64_t>(storage_.size()) / view_.blocks_per_item;
  for (int64_t item = 0; item < items; ++item) {
    for (int64_t b = blocks.begin; b < blocks.end; ++b) {
      const auto i = static_cast<size_t>(item * view_.blocks_per_item + b);
      storage_[i].reset();
      view_.blocks[i] = nullptr;
    }
  }
}

bool KeptMap::empty() const {
  return std::none_of(storage_.begin(), storage_.end(), [](const auto& block) { return block != nullptr; });
}

Interval KeptMap::present() const {
  const auto first = storage_.begin(), end = first + view_.blocks_per_item;
  const auto there = [](const auto& block) { return block != nullptr; };
  const auto begin = std::find_if(first, end, there);
  return {begin - first, std::find_if_not(begin, end, there) - first};
}

void KeptMap::follow(const std::map<const void*, void*>& moved) {
  for (size_t i = 0; i < storage_.size(); ++i) {
    const auto place = moved.find(view_.blocks[i]);
    if (!storage_[i] || place == moved.end()) continue;
    // The block goes back to the device as the same allocation.
    storage_[i] = std::shared_ptr<void>(std::move(storage_[i]), place->second);
    view_.blocks[i] = place->second;
  }
}

KeptBlocks::KeptBlocks(const Graph& graph, const Plan& plan, const Sizes& sizes, Device& device,
                       BlockTransfers* transfers)
    : graph_(graph), plan_(plan), sizes_(sizes), device_(device), transfers_(transfers) {}

KeptBlocks::~KeptBlocks() {
  // After an error transfers may still be running, and their memory is about to be freed.
  if (transfers_ != nullptr) transfers_->abandon();
}

KeptMap KeptBlocks::map_of(const KeptTensor& kept, const Interval& frames, KeptMap::Allocate allocate) const {
  const Tensor& tensor = graph_.tensor(kept.tensor);
  const Extent extent = extent_of(tensor, sizes_.latent);
  const Region region{frames, kept.rows.value_or(Interval{0, extent.y}), {0, extent.x}};
  const Dtype dtype = kept.tensor == graph_.input() ? Dtype::fp32 : sizes_.dtype;
  return {kept, region, tensor.channels, sizes_.items, dtype, std::move(allocate)};
}

KeptMap KeptBlocks::map_of(const KeptTensor& kept, const Interval& frames) const {
  return map_of(kept, frames, [&device = device_](size_t, int64_t bytes, const InSeries& series) {
    return device.allocate(bytes, series);
  });
}

KeptMap KeptBlocks::tail_of(const KeptTensor& kept, const Interval& frames) const {
  const auto tensor = static_cast<int64_t>(kept.tensor);
  return map_of(kept, frames, [&device = device_, tensor](size_t number, int64_t bytes, const InSeries&) {
    const StatePlace place{
        .owner = StateOwner::kept_tensor, .number = tensor, .band = static_cast<int64_t>(number)};
    return device.allocate_state(place, bytes);
  });
}

KeptTensor KeptBlocks::input() const {
  const TensorId id = graph_.input();
  return {.tensor = id, .block_rows = extent_of(graph_.tensor(id), sizes_.latent).y};
}

void KeptBlocks::move_state(StreamState& state, const std::map<TensorId, Interval>& tails) {
  std::vector<KeptTensor> all = plan_.kept;
  all.push_back(input());
  for (const KeptTensor& entry : all) {
    const Interval& frames = tails.at(entry.tensor);
    if (frames.length() == 0) continue;
    if (state.reads()) {
      KeptMap map = tail_of(entry, frames);
      map.acquire({0, map.view().blocks_per_item});
      tails_.insert_or_assign(entry.tensor, std::move(map));
    }
    const MapView& view = tails_.at(entry.tensor).view();
    const Extent block{frames.length(), view.block_rows, view.region.x.length()};
    for (void* values : view.blocks)
      state.move(device_, values, positions(block) * view.channels * bytes_per_element(view.dtype));
  }
}

MapView KeptBlocks::begin_block(const BlockFrames& frames) {
  frames_ = &frames;
  const TensorId id = graph_.input();
  maps_.insert_or_assign(id, map_of(input(), frames.kept.at(id)));
  acquire(id, {0, 1});
  const MapView& all = maps_.at(id).view();
  return part_of(all, frames.input, all.region.y);
}

void KeptBlocks::end_block() {
  while (!maps_.empty()) {
    const TensorId id = maps_.begin()->first;
    release(id, maps_.begin()->second.present());
    maps_.erase(id);
  }
  for (auto& [id, tail] : tails_) next_tails_.try_emplace(id, std::move(tail));
  tails_ = std::move(next_tails_);
  next_tails_.clear();
}

void KeptBlocks::acquire(TensorId tensor, const Interval& blocks) {
  maps_.at(tensor).acquire(blocks);
  restore_tail(tensor, blocks);
}

void KeptBlocks::release(TensorId tensor, const Interval& blocks) {
  save_tail(tensor, blocks);
  maps_.at(tensor).release(blocks);
}

void KeptBlocks::restore_tail(TensorId tensor, const Interval& blocks) {
  const auto tail = tails_.find(tensor);
  if (tail == tails_.end()) return;
  // Every tile of a band asks for the band's blocks; the first one has restored them.
  const Interval left = intersect(blocks, tail->second.present());
  if (left.length() == 0) return;
  copy_rows(tail->second, maps_.at(tensor), left);
  tail->second.release(left);
  if (tail->second.empty()) tails_.erase(tail);
}

void KeptBlocks::save_tail(TensorId tensor, const Interval& blocks) {
  const auto frames = frames_->tails.find(tensor);
  if (frames == frames_->tails.end() || frames->second.length() == 0 || blocks.length() <= 0) return;
  const KeptMap& map = maps_.at(tensor);
  const auto [tail, is_new] = next_tails_.try_emplace(
      tensor, tail_of({.tensor = tensor, .block_rows = map.view().block_rows}, frames->second));
  tail->second.acquire(blocks);
  copy_rows(map, tail->second, blocks);
}

/// Copies the frames that both have of some blocks of rows.
void KeptBlocks::copy_rows(const KeptMap& from, const KeptMap& to, const Interval& blocks) {
  Region region = from.view().region;
  const int64_t rows = from.view().block_rows;
  region.t = intersect(region.t, to.view().region.t);
  region.y = intersect(region.y, {blocks.begin * rows, blocks.end * rows});
  if (region.t.length() > 0) device_.copy(from.view(), to.view(), region, sizes_.items);
}

void KeptBlocks::follow_moves() {
  const std::map<const void*, void*> moved = device_.move_blocks();
  if (moved.empty()) return;
  for (auto& [id, map] : maps_) map.follow(moved);
}

void KeptBlocks::begin_pass(size_t number) {
  pass_ = number;
  for (const KeptTensor& entry : plan_.kept) {
    if (entry.first_pass == static_cast<int32_t>(pass_)) begin_tensor(entry);
  }
  moving_.clear();
  for (Window& window : windows_of(graph_, plan_, pass_, sizes_)) {
    const TensorUse& use = window.use;
    const auto map = maps_.find(use.tensor);
    if (map == maps_.end() || (!window.below_device() && !use.written && !use.leaves)) continue;
    if (window.staged) {
      stage(use);
    } else {
      moving_.push_back({std::move(window), &map->second});
    }
  }
}

void KeptBlocks::begin_tensor(const KeptTensor& entry) {
  if (entry.in_place_of == TensorId{-1}) {
    maps_.insert_or_assign(entry.tensor, map_of(entry, frames_->kept.at(entry.tensor)));
    return;
  }
  // The blocks change hands before the sweep; each position becomes the sum when its tile is added.
  const auto base = maps_.find(entry.in_place_of);
  const Interval blocks = base->second.present();
  save_tail(entry.in_place_of, blocks);
  maps_.insert_or_assign(entry.tensor, std::move(base->second));
  maps_.erase(base);
  restore_tail(entry.tensor, blocks);
}

void KeptBlocks::stage(const TensorUse& use) {
  try {
    staged_.emplace(use.tensor, StagedBlocks(graph_, use, sizes_, device_));
  } catch (const LimitExceeded& refused) {
    throw LimitExceeded("pass " + std::to_string(pass_) + " (" + pass().name + "), blocks of " +
                        graph_.tensor(use.tensor).name + ": " + refused.what());
  }
}

void KeptBlocks::for_each_block(TensorId keys, TensorId values, const Interval& frames,
                                const std::function<int64_t(int64_t frame)>& reads,
                                const std::function<void(const StagedKeys&)>& attend) {
  const StagedBlocks &key_blocks = staged_.at(keys), &value_blocks = staged_.at(values);
  const int64_t count = key_blocks.blocks_per_item(), places = key_blocks.places();
  const int64_t all = sizes_.items * frames.length() * count;
  const auto place = [&](int64_t n) { return n % places; };
  const auto item = [&](int64_t n) { return n / (count * frames.length()); };
  const auto frame = [&](int64_t n) { return frames.begin + n / count % frames.length(); };
  const auto fetch = [&](int64_t n) {
    std::vector<BlockTransfers::Block> blocks;
    const auto add = [&](const StagedBlocks& staged) {
      blocks.push_back(staged.fetched(item(n), n % count, reads(frame(n)), place(n)));
    };
    add(key_blocks);
    if (values != keys) add(value_blocks);
    return transfers_->queue_read(blocks);
  };
  BlockTransfers::Ticket next = all > 0 ? fetch(0) : 0;
  for (int64_t n = 0; n < all; ++n) {
    const BlockTransfers::Ticket needed = next;
    // The place is that of the block before this one, whose work has been given to the device.
    if (n + 1 < all && places > 1) next = fetch(n + 1);
    transfers_->wait(needed);
    const int64_t block = n % count;
    attend({item(n), frame(n), key_blocks.view(block, place(n)), value_blocks.view(block, place(n)),
            block == 0, block + 1 == count, n, all});
    if (n + 1 < all && places == 1) next = fetch(n + 1);
  }
}

void KeptBlocks::begin_band(size_t band) {
  band_ = band;
  for (Moving& moving : moving_) let_go(moving, band == 0 ? 0 : band - 1);
  for (Moving& moving : moving_) {
    if (!moving.window.below_device() || moving.window.use.written) continue;
    if (band == 0) fetch(moving, 0);
    const BlockTransfers::Ticket needed = moving.last_fetch;
    if (band + 1 < pass().tiles.y.size()) fetch(moving, band + 1);
    transfers_->wait(needed);
  }
}

void KeptBlocks::before_store(TensorId tensor) {
  const auto moving = std::find_if(moving_.begin(), moving_.end(),
                                   [&](const Moving& m) { return m.window.use.tensor == tensor; });
  acquire(tensor, moving->window.stored(band_));
}

void KeptBlocks::end_band() {
  for (Moving& moving : moving_) {
    const Window& window = moving.window;
    if (!window.use.written) {
      release(window.use.tensor, window.given_back(band_));
    } else if (window.below_device()) {
      const Interval blocks = window.completed(band_);
      if (blocks.length() > 0)
        moving.leaving.push_back({band_, blocks, transfers_->queue_write(placed(moving, blocks))});
    }
  }
}

void KeptBlocks::end_pass() {
  for (Moving& moving : moving_) let_go(moving, pass().tiles.y.size());
  moving_.clear();
  staged_.clear();
  for (const KeptTensor& entry : plan_.kept) {
    const auto map = maps_.find(entry.tensor);
    if (map == maps_.end()) continue;
    // A block of a stream in which the pass made no frames has those of earlier blocks.
    if (const auto tail = tails_.find(entry.tensor);
        tail != tails_.end() && entry.first_pass == static_cast<int32_t>(pass_))
      acquire(entry.tensor, tail->second.present());
    if (entry.last_pass != static_cast<int32_t>(pass_)) continue;
    release(entry.tensor, map->second.present());
    maps_.erase(map);
  }
}

/// Frees blocks that bands before `bands_done` completed, after their writes have finished.
void KeptBlocks::let_go(Moving& moving, size_t bands_done) {
  while (!moving.leaving.empty() && moving.leaving.front().band < bands_done) {
    transfers_->wait(moving.leaving.front().written);
    moving.map->release(moving.leaving.front().blocks);
    moving.leaving.pop_front();
  }
}

/// Requests the blocks up to the last one that `band` reads.
void KeptBlocks::fetch(Moving& moving, size_t band) {
  const Interval blocks = moving.window.fetched_for(band);
  if (blocks.length() == 0) return;
  try {
    moving.map->acquire(blocks);
  } catch (const LimitExceeded& refused) {
    throw LimitExceeded("pass " + std::to_string(pass_) + " (" + pass().name + "), fetch " +
                        graph_.tensor(moving.window.use.tensor).name + ": " + refused.what());
  }
  moving.last_fetch = transfers_->queue_read(placed(moving, blocks));
}

std::vector<BlockTransfers::Block> KeptBlocks::placed(const Moving& moving, const Interval& blocks) const {
  const MapView& view = moving.map->view();
  const int64_t bytes = kept_block_bytes(graph_, moving.window.use, sizes_);
  std::vector<BlockTransfers::Block> list;
  for (int64_t item = 0; item < sizes_.items; ++item) {
    for (int64_t b = blocks.begin; b < blocks.end; ++b) {
      const auto i = static_cast<size_t>(item * view.blocks_per_item + b);
      list.push_back({view.blocks[i], bytes, moving.window.use.tensor, static_cast<int64_t>(i)});
    }
  }
  return list;
}

}  // namespace headroom
