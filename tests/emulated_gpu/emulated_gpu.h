#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "decoder/gpu/calls/device_memory.h"
#include "decoder/gpu/calls/gpu.h"
#include "tests/emulated_gpu/hazards.h"

namespace headroom::gpu {

/// A GPU emulated on the CPU. Kernels run at once, and every hazard between streams is detected. So any order
/// that a real GPU may choose gives the same values. Memory starts as NaNs. Accesses outside reservations are
/// errors.
class EmulatedGpu : public Gpu {
 public:
  static constexpr int64_t kContextBytes = int64_t{300} << 20;

  /// Reservations come from `memory`. Null: the emulator allocates them itself.
  explicit EmulatedGpu(int64_t bytes = int64_t{1} << 30, std::unique_ptr<DeviceMemory> memory = nullptr)
      : total_bytes_(bytes), lent_(std::move(memory)) {}
  ~EmulatedGpu() override { release(); }

  std::string device() const override { return "emulated GPU"; }
  std::string libraries() const override { return lent_ ? lent_->name() + ", emulator" : "emulator"; }
  int64_t free_bytes() const override { return total_bytes_ - reserved_bytes_; }
  int64_t total_bytes() const override { return total_bytes_; }
  /// Context plus reservations, rounded up to the driver's pages.
  int64_t own_bytes() const override {
    constexpr int64_t kPage = int64_t{2} << 20;
    return kContextBytes + (reserved_bytes_ + kPage - 1) / kPage * kPage;
  }

  /// The emulator's own memory has any size, so that limits of small decodes are tight.
  ReservationSizes reservation_sizes() const override {
    return lent_ ? lent_->reservation_sizes() : ReservationSizes{};
  }
  std::byte* reserve(int64_t bytes) override;
  std::byte* reserve_host(int64_t bytes) override;
  std::shared_ptr<std::byte> pin(int64_t bytes) override;
  void release() noexcept override;

  void run(const Call& call) override;
  void copy(Stream stream, void* to, const void* from, int64_t bytes) override;
  void clear(void* memory, int64_t bytes) override;

  Event record(Stream stream) override { return hazards_.record(stream); }
  void wait(Stream stream, Event event) override { hazards_.wait(stream, event); }
  void wait_on_host(Event) override {}
  bool happened(Event) override { return true; }

  /// Reports reservations as if they were segments in multiples of 2 MiB.
  bool watch_allocator(AllocatorWatch watch) override;

  void open_range(const std::string&) override {
    ++ranges_;
    ++open_ranges_;
  }
  void close_range() override { --open_ranges_; }

  int64_t ranges() const { return ranges_; }
  int64_t open_ranges() const { return open_ranges_; }
  const Hazards& hazards() const { return hazards_; }
  int64_t calls() const { return calls_; }
  int64_t reserved_bytes() const { return reserved_bytes_; }
  int reservations() const { return reservations_; }
  int64_t most_reserved_bytes() const { return most_reserved_bytes_; }

 private:
  struct Memory {
    std::byte* begin;
    int64_t bytes;
    bool on_device = false;
  };
  std::byte* take(int64_t bytes, bool on_device);
  void check(const std::vector<Access>& accesses) const;

  int64_t total_bytes_;
  const std::unique_ptr<DeviceMemory> lent_;
  int64_t reserved_bytes_ = 0, most_reserved_bytes_ = 0;
  std::vector<Memory> memory_, pinned_;
  AllocatorWatch watch_;
  Hazards hazards_;
  int64_t calls_ = 0, ranges_ = 0, open_ranges_ = 0;
  int reservations_ = 0;
};

}  // namespace headroom::gpu
