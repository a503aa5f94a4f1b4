#include "profiler/cupti/buffers.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "decoder/base/os/mapped_memory.h"
#include "profiler/cupti/records.h"

namespace headroom::profiler::cupti {
namespace {

/// Page-aligned (CUPTI needs 8 bytes). Null if the system has no memory.
uint8_t* zeroed_buffer(size_t bytes) {
  return reinterpret_cast<uint8_t*>(map_pages(static_cast<int64_t>(bytes)));
}

}  // namespace

void Recording::read(const Library& library, uint8_t* buffer, size_t bytes) {
  std::vector<StoredEvent> read;
  int64_t lost = 0;
  bool activities = false, scopes = false;
  ScopeOfCall last;
  CUpti_Activity* record = nullptr;
  CUptiResult result = CUPTI_SUCCESS;
  while ((result = library.get_next_record(buffer, bytes, &record)) == CUPTI_SUCCESS && record != nullptr) {
    std::optional<RecordedEvent> recorded = event_of(*record);
    if (!recorded) continue;
    if (const auto* gone = std::get_if<RecordsLost>(&recorded->event)) {
      lost += gone->count;
      continue;
    }
    if (!calls_ && std::holds_alternative<DriverCall>(recorded->event)) continue;
    if (const auto* scope = std::get_if<ScopeOfCall>(&recorded->event)) {
      scopes = true;
      // A runtime call and the driver call inside it share one number.
      if (*scope == std::exchange(last, *scope)) continue;
    }
    activities |= std::holds_alternative<DeviceActivity>(recorded->event);
    const int32_t name = recorded->kernel == nullptr ? -1 : names_.index_of(recorded->kernel);
    read.push_back({std::move(recorded->event), name});
  }
  if (result != CUPTI_ERROR_MAX_LIMIT_REACHED) ++lost;  // the rest of the buffer is not valid

  const std::lock_guard lock(mutex_);
  const size_t room = most_events_ - std::min(most_events_, stored_.size());
  const size_t taken = std::min(room, read.size());
  stored_.insert(stored_.end(), std::make_move_iterator(read.begin()),
                 std::make_move_iterator(read.begin() + static_cast<std::ptrdiff_t>(taken)));
  lost_ += lost + static_cast<int64_t>(read.size() - taken);
  has_activities_ |= activities;
  has_scopes_ |= scopes;
}

void Recording::lose(int64_t records) {
  const std::lock_guard lock(mutex_);
  lost_ += records;
}

void Recording::hand_on(const std::function<void(DeviceEvent)>& take) {
  while (!stored_.empty()) {
    StoredEvent stored = std::move(stored_.front());
    stored_.pop_front();
    if (stored.name >= 0) std::get<DeviceActivity>(stored.event).name = names_.at(stored.name);
    take(std::move(stored.event));
  }
  if (lost_ > 0) take(RecordsLost{std::exchange(lost_, 0)});
}

Buffers& Buffers::of_process() {
  static auto* buffers = new Buffers;  // never destroyed: CUPTI may call back during process exit
  return *buffers;
}

bool Buffers::begin(const Library& library, const CuptiBounds& bounds, std::shared_ptr<Recording> recording) {
  const std::lock_guard lock(mutex_);
  if (recording_ != nullptr) return false;
  library_ = &library;
  recording_ = std::move(recording);
  bounds_ = bounds;
  ++number_;
  return true;
}

void Buffers::end() {
  std::unique_lock lock(mutex_);
  recording_ = nullptr;
  read_.wait(lock, [&] { return reading_ == 0; });
  std::vector<uint8_t*> unused;
  for (const Buffer& buffer : buffers_)
    if (buffer.lent_for == 0) unused.push_back(buffer.memory);
  for (uint8_t* memory : unused) drop(memory);
}

void Buffers::request(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *most_records = 0;  // 0: as many as fit
  *bytes = 0;
  *buffer = nullptr;
  try {
    *buffer = of_process().lend(*bytes);
  } catch (const std::bad_alloc&) {  // CUPTI then drops and counts its records
  }
}

void Buffers::complete(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  of_process().take_back(buffer, valid_bytes);
}

uint8_t* Buffers::lend(size_t& bytes) {
  const std::lock_guard lock(mutex_);
  if (recording_ == nullptr) return nullptr;
  auto found = std::find_if(buffers_.begin(), buffers_.end(), [&](const Buffer& buffer) {
    return buffer.lent_for == 0 && buffer.bytes == bounds_.buffer_bytes;
  });
  if (found == buffers_.end()) {
    if (buffers_.size() >= bounds_.buffers) return nullptr;
    buffers_.reserve(buffers_.size() + 1);
    uint8_t* memory = zeroed_buffer(bounds_.buffer_bytes);
    if (memory == nullptr) return nullptr;
    found = buffers_.insert(buffers_.end(), {memory, bounds_.buffer_bytes, 0});
  }
  found->lent_for = number_;
  bytes = found->bytes;
  return found->memory;
}

void Buffers::take_back(uint8_t* memory, size_t valid_bytes) {
  std::shared_ptr<Recording> recording;
  size_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(buffers_.begin(), buffers_.end(),
                                    [&](const Buffer& buffer) { return buffer.memory == memory; });
    if (found == buffers_.end() || found->lent_for == 0) return;  // not one of these buffers
    if (recording_ == nullptr || found->lent_for != number_) {
      drop(memory);  // its recording has ended
      return;
    }
    bytes = found->bytes;
    recording = recording_;
    ++reading_;
  }
  try {
    recording->read(*library_, memory, std::min(valid_bytes, bytes));
  } catch (const std::bad_alloc&) {
    recording->lose(1);
  }
  size_t dropped = 0;
  if (library_->get_dropped_records(nullptr, 0, &dropped) == CUPTI_SUCCESS && dropped > 0)
    recording->lose(static_cast<int64_t>(dropped));
  // Zeroed here rather than on lending, because lending happens on the thread that submits GPU work.
  std::memset(memory, 0, bytes);
  const std::lock_guard lock(mutex_);
  std::find_if(buffers_.begin(), buffers_.end(), [&](const Buffer& buffer) {
    return buffer.memory == memory;
  })->lent_for = 0;
  --reading_;
  read_.notify_all();
}

void Buffers::drop(uint8_t* memory) {
  const auto found = std::find_if(buffers_.begin(), buffers_.end(),
                                  [&](const Buffer& buffer) { return buffer.memory == memory; });
  unmap_pages(found->memory, static_cast<int64_t>(found->bytes));
  buffers_.erase(found);
}

}  // namespace headroom::profiler::cupti
