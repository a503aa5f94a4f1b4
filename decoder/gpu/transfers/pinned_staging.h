#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/transfers/host_memory.h"
#include "decoder/interpreter/device.h"

namespace headroom {

/// Pinned host memory for results that a GPU writes: pieces of the picture, and flags for values that are not
/// finite. The user tracks free buffers and flags.
class OutputStaging {
 public:
  static constexpr int64_t kBuffers = 8;
  static constexpr int64_t kBytes = int64_t{4} << 20;  ///< of one buffer
  static constexpr int64_t kFlags = 256;

  explicit OutputStaging(gpu::Gpu& gpu)
      : memory_(reserve_staging(gpu, kBuffers * kBytes + kFlags * int64_t{sizeof(uint32_t)})) {}

  // `number` is a running number: buffers repeat after kBuffers, flags after kFlags.
  std::byte* buffer(int64_t number) const { return memory_ + number % kBuffers * kBytes; }
  uint32_t* flag(int64_t number) const {
    return reinterpret_cast<uint32_t*>(memory_ + kBuffers * kBytes) + number % kFlags;
  }

 private:
  std::byte* memory_;
};

/// Two buffers of pinned host memory for copies to a GPU. While one is copied, the host fills the other. It
/// also owns the staging for output. Together they have 64 MiB.
class PinnedStaging {
 public:
  static constexpr int64_t kBytes = int64_t{16} << 20;  ///< of one buffer

  explicit PinnedStaging(gpu::Gpu& gpu)
      : gpu_(gpu), memory_(reserve_staging(gpu, 2 * kBytes)), output_(gpu) {}

  gpu::Gpu& gpu() const { return gpu_; }
  const OutputStaging& output() const { return output_; }

  /// The buffer that was used least recently. Waits until the GPU no longer uses it.
  std::byte* next() {
    current_ = 1 - current_;
    wait(current_);
    return memory_ + current_ * kBytes;
  }
  /// Marks the buffer that next() returned last as used by the compute stream's work so far. next() waits for
  /// that work before it returns the buffer again.
  gpu::Event used() {
    busy_[static_cast<size_t>(current_)] = true;
    return events_[static_cast<size_t>(current_)] = gpu_.record(gpu::Stream::compute);
  }

 private:
  void wait(int buffer) {
    const auto i = static_cast<size_t>(buffer);
    if (busy_[i]) gpu_.wait_on_host(events_[i]);
    busy_[i] = false;
  }

  gpu::Gpu& gpu_;
  std::byte* memory_;
  OutputStaging output_;
  int current_ = 0;
  std::array<bool, 2> busy_{};
  std::array<gpu::Event, 2> events_{};
};

/// Copies between a GPU's memory and pageable memory of the host, through pinned staging, on the compute
/// stream:
///
///     GPU        ..a....b c.....d..    b and c touch: one copy
///                  |     |      |
///     staging    [a][b c][d]           at most one staging buffer at a time
///     host       [a b c d]
class StagedCopies final : public HostCopies {
 public:
  /// `staging` must outlive it.
  explicit StagedCopies(PinnedStaging& staging) : staging_(staging) {}

  void to_host(const std::vector<Span>& from, std::byte* to) override;
  void to_device(const std::byte* from, const std::vector<Span>& to) override;

 private:
  PinnedStaging& staging_;
};

}  // namespace headroom
