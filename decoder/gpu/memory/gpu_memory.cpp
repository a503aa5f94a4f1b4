#include "decoder/gpu/memory/gpu_memory.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "decoder/base/errors.h"

namespace headroom {

MemoryObserver& GpuMemory::nobody() {
  class Nobody final : public MemoryObserver {
    void allocated(const void*, int64_t, int64_t, int64_t) override {}
    void freed(const void*, int64_t, int64_t, int64_t) override {}
  };
  static Nobody nobody;
  return nobody;
}

std::shared_ptr<void> GpuMemory::give(int64_t bytes, const InSeries& series, bool movable) {
  bytes = aligned_bytes(bytes);
  const Given given = ask(bytes, series, movable);
  std::byte* address = base_ + given.offset;
  live_bytes_ += bytes;
  window_peak_bytes_ = std::max(window_peak_bytes_, live_bytes_);
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

}  // namespace headroom
