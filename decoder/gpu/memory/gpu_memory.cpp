#include "decoder/gpu/memory/gpu_memory.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/schedule/tiles.h"

namespace headroom {

namespace {

std::string advice(int64_t limit) {
  if (limit == 0) return "no decode fits while other programs use the rest";
  return "a plan for --limit " + std::to_string(limit) + " fits while other programs use the rest";
}

}  // namespace

OutOfGpuMemory::OutOfGpuMemory(const gpu::Gpu& gpu, int64_t bytes)
    : DoesNotFit("cannot have " + format_bytes(bytes) + " of the GPU's memory: of " +
                     format_bytes(gpu.total_bytes()) + ", " + format_bytes(gpu.free_bytes()) +
                     " are free now; " + advice(limit_on_card(gpu)),
                 0) {}

int64_t limit_on_card(const gpu::Gpu& gpu) {
  constexpr int64_t kMargin = int64_t{512} << 20;
  return std::max<int64_t>(0, gpu.free_bytes() - kMargin);
}

MemoryObserver& GpuMemory::nobody() {
  class Nobody final : public MemoryObserver {
    void allocated(const void*, int64_t, int64_t, int64_t) override {}
    void freed(const void*, int64_t, int64_t, int64_t) override {}
  };
  static Nobody nobody;
  return nobody;
}

const StateSlots::Slot& StateSlots::of(const StatePlace& place, int64_t bytes) const {
  const auto found = slots_.find(place);
  const int64_t planned = found == slots_.end() ? 0 : found->second.bytes;
  if (bytes > planned) {
    throw LimitExceeded("a block leaves " + std::to_string(bytes) + " bytes of state where " +
                        std::to_string(planned) + " are planned");
  }
  return found->second;
}

void GpuMemory::count(int64_t bytes) {
  live_bytes_ += bytes;
  window_peak_bytes_ = std::max(window_peak_bytes_, live_bytes_);
  most_work_bytes_ = std::max(most_work_bytes_, live_bytes_ - state_bytes_);
}

std::shared_ptr<void> GpuMemory::allocate_state(const StatePlace& place, int64_t bytes) {
  if (wanted_ == nullptr && slots_ == nullptr) return allocate(bytes);
  bytes = aligned_bytes(bytes);
  std::byte* address = base_ + recorded_bytes_;
  if (wanted_ != nullptr) {
    wanted_->enlarge(place, bytes);
    recorded_bytes_ += bytes;
  } else {
    address = state_base_ + slots_->of(place, bytes).offset;
  }
  state_bytes_ += bytes;
  count(bytes);
  return {address, [own = shared_from_this(), bytes](void*) {
            own->live_bytes_ -= bytes;
            own->state_bytes_ -= bytes;
          }};
}

void GpuMemory::serve(const MemoryRequests& requests, const Placement& placement) {
  expected_ = &requests;
  placement_ = &placement;
  go_to(0);
}

MemoryRequests GpuMemory::take_requests() {
  recorded_numbers_.clear();
  return std::exchange(recorded_, {});
}

std::shared_ptr<void> GpuMemory::give(int64_t bytes, const InSeries& series, bool movable) {
  bytes = aligned_bytes(bytes);
  const Given given = ask(bytes, series, movable);
  std::byte* address = base_ + given.offset;
  count(bytes);
  observer_->allocated(address, bytes, live_bytes_, 0);
  return {address, [own = shared_from_this(), number = given.number, bytes](void* memory) {
            own->hand_back(memory, number, bytes);
          }};
}

Observation GpuMemory::observe(MemoryObserver* observer) {
  observer_ = observer != nullptr ? observer : &nobody();
  if (held_bytes_ > 0) observer_->allocated(base_ - held_bytes_, held_bytes_, live_bytes_, 0);
  return Observation([this] {
    if (held_bytes_ > 0) observer_->freed(base_ - held_bytes_, held_bytes_, live_bytes_ - held_bytes_, 0);
    observer_ = &nobody();
  });
}

void GpuMemory::go_to(size_t event) {
  next_ = event;
  if (placement_ == nullptr) return;
  const std::vector<Move>& moves = placement_->moves;
  const auto first =
      std::partition_point(moves.begin(), moves.end(), [&](const Move& move) { return move.event < event; });
  next_move_ = static_cast<size_t>(first - moves.begin());
}

std::map<const void*, void*> GpuMemory::move_blocks(
    const std::function<void(void* to, const void* from, int64_t bytes)>& copy) {
  if (placement_ == nullptr) return {};
  const std::vector<Move>& all = placement_->moves;
  const size_t first = next_move_;
  while (next_move_ < all.size() && all[next_move_].event <= next_) ++next_move_;
  const std::span due = std::span(all).subspan(first, next_move_ - first);
  for (const Copy& each : copies_of(due)) copy(base_ + each.to, base_ + each.from, each.bytes);
  std::map<int64_t, std::pair<const void*, void*>> moved;  // by number: old and new address
  for (const Move& move : due) {
    std::byte *from = base_ + move.from, *to = base_ + move.to;
    observer_->moved(from, to);
    moved_[move.number] = move.to;
    moved.try_emplace(move.number, from, nullptr).first->second.second = to;
  }
  std::map<const void*, void*> places;
  for (const auto& [number, place] : moved) places.insert(place);
  return places;
}

GpuMemory::Given GpuMemory::ask(int64_t bytes, const InSeries& series, bool movable) {
  if (stacked_) {
    const int64_t offset = stacked_->take(bytes);
    return {offset, offset};
  }
  if (expected_ == nullptr) {
    const auto before = recorded_numbers_.find(series.before);
    const Given given{
        recorded_.ask(bytes,
                      {before == recorded_numbers_.end() ? -1 : before->second, series.blocks_after * bytes},
                      movable),
        recorded_bytes_};
    if (series.blocks_after > 0) recorded_numbers_[base_ + recorded_bytes_] = given.number;
    recorded_bytes_ += bytes;
    return given;
  }
  const auto& events = expected_->events();
  if (!as_run_dry_ || next_ == events.size() || events[next_].bytes != bytes)
    throw std::logic_error("a decode asks for memory in another order than its dry run");
  const int64_t number = events[next_++].number;
  return {number, placement_->offsets[static_cast<size_t>(number)]};
}

void GpuMemory::hand_back(const void* memory, int64_t number, int64_t bytes) noexcept {
  if (const auto moved = moved_.find(number); moved != moved_.end()) {
    memory = base_ + moved->second;
    moved_.erase(moved);
  }
  live_bytes_ -= bytes;
  observer_->freed(memory, bytes, live_bytes_, 0);
  if (stacked_) return stacked_->give_back(number);
  if (expected_ == nullptr) return recorded_.hand_back(number);
  // A decode that ends early returns all memory at once, out of order. It makes no further requests.
  const auto& events = expected_->events();
  as_run_dry_ = as_run_dry_ && next_ < events.size() && events[next_] == MemoryRequests::Event{0, number};
  ++next_;
}

int64_t StackedOffsets::take(int64_t bytes) {
  const int64_t offset = live_.empty() ? 0 : live_.rbegin()->second;
  if (bytes > bytes_ - offset) {
    throw LimitExceeded(std::to_string(bytes) + " bytes requested at offset " + std::to_string(offset) +
                        " of a reservation of " + std::to_string(bytes_));
  }
  live_[offset] = offset + bytes;
  most_bytes_ = std::max(most_bytes_, offset + bytes);
  return offset;
}

void StackedOffsets::give_back(int64_t offset) noexcept {
  live_.erase(offset);
}

namespace {

/// For each column of tiles, or chunk of frames, the first one with the same memory requests. The first and
/// the last one equal no other: the first column allocates blocks, and frames are carried from the first
/// chunk up to the last.
std::vector<size_t> like(const Graph& graph, const Pass& pass, Axis axis, const Extent& latent) {
  const std::vector<Interval>& tiles = at(pass.tiles, axis);
  std::vector<size_t> like(tiles.size());
  std::iota(like.begin(), like.end(), size_t{0});
  // The workspace of attention depends on the number of key frames so far, so chunks differ.
  const bool attends = std::any_of(pass.steps.begin(), pass.steps.end(),
                                   [](const Step& step) { return step.kind == OpKind::attention; });
  if (axis == Axis::t && attends) return like;
  const TileClasses found = tile_classes(measured_axes(graph, pass, axis, latent), tiles);
  std::vector<size_t> first(found.classes.size(), like.size());
  for (size_t i = 1; i + 1 < like.size(); ++i) {
    size_t& of_class = first[found.class_of[i]];
    like[i] = of_class = std::min(of_class, i);
  }
  return like;
}

}  // namespace

void RequestScopes::pass_started(const Plan& plan, int32_t number) {
  end_column();
  passes_.push_back(memory_.requests().events().size());
  if (plan.share.alone()) memory_.begin_pass();
  const Pass& pass = plan.passes[static_cast<size_t>(number)];
  columns_.like = like(graph_, pass, Axis::x, latent_);
  chunks_.like = like(graph_, pass, Axis::t, latent_);
  ForwardingEvents::pass_started(plan, number);
}

void RequestScopes::tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) {
  const auto number = static_cast<size_t>(pass);
  const Axes<std::vector<Interval>>& grid = plan.passes[number].tiles;
  const size_t chunks = static_cast<size_t>(tiles) / (grid.y.size() * grid.x.size());
  const size_t chunk = static_cast<size_t>(tile) % chunks;
  const size_t column = static_cast<size_t>(tile) / chunks % grid.x.size();
  if (chunk == 0) {
    end_column();
    begin(columns_, column);
  }
  end_chunk();
  // A column that repeats another is marked as a whole.
  if (!columns_.repeats && !of_stream_) begin(chunks_, chunk);
  memory_.begin_scope();
  ForwardingEvents::tile_started(plan, pass, tile, tiles);
}

void RequestScopes::begin(Tiles& tiles, size_t number) {
  tiles.first_requests.resize(tiles.like.size());
  tiles.first_requests[number] = memory_.requests().count();
  tiles.repeats = tiles.like[number] != number;
  if (tiles.repeats) memory_.begin_repeat(tiles.first_requests[tiles.like[number]]);
}

void RequestScopes::end_chunk() {
  if (chunks_.repeats) memory_.end_repeat();
  chunks_.repeats = false;
}

void RequestScopes::end_column() {
  end_chunk();
  if (columns_.repeats) memory_.end_repeat();
  columns_.repeats = false;
}

}  // namespace headroom
