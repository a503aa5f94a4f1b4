#include "profiler/libtorch/reported_memory.h"

#include <malloc.h>

#include <cstdint>
#include <unordered_map>

namespace headroom::profiler {
namespace {

/// What LibTorch tells of each allocation and of each free.
class Reporter final : public c10::MemoryReportingInfoBase {
 public:
  Reporter(AllocationLog& log, c10::DeviceType device) : log_(log), device_(device) {}

  void reportMemoryUsage(void* pointer, int64_t bytes, size_t, size_t reserved, c10::Device device) override {
    if (device.type() != device_ || pointer == nullptr) return;
    const auto address = reinterpret_cast<uint64_t>(pointer);
    const bool on_cpu = device_ == c10::DeviceType::CPU;
    if (bytes > 0) {
      if (on_cpu) heap_bytes_ += heap_[address] = static_cast<int64_t>(malloc_usable_size(pointer));
      log_.taken(address, bytes, on_cpu ? heap_bytes_ : static_cast<int64_t>(reserved));
      return;
    }
    if (on_cpu) {
      heap_bytes_ -= heap_[address];
      heap_.erase(address);
    }
    log_.returned(address, on_cpu ? heap_bytes_ : static_cast<int64_t>(reserved));
  }

  void add(void* memory, int64_t bytes) {
    added_bytes_ += bytes;
    reportMemoryUsage(memory, bytes, 0, static_cast<size_t>(added_bytes_), c10::Device(device_));
  }

  bool memoryProfilingEnabled() const override { return true; }

 private:
  AllocationLog& log_;
  const c10::DeviceType device_;
  std::unordered_map<uint64_t, int64_t> heap_;
  int64_t heap_bytes_ = 0, added_bytes_ = 0;
};

}  // namespace

ReportedMemory::ReportedMemory(AllocationLog& log, c10::DeviceType device)
    : reporter_(std::make_shared<Reporter>(log, device)),
      guard_(std::make_unique<c10::DebugInfoGuard>(c10::DebugInfoKind::PROFILER_STATE, reporter_)) {}

ReportedMemory::~ReportedMemory() = default;

void ReportedMemory::add(void* memory, int64_t bytes) {
  static_cast<Reporter&>(*reporter_).add(memory, bytes);
}

}  // namespace headroom::profiler
