#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decoder/gpu/calls/allocator_watch.h"
#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/calls/engine_runs.h"
#include "decoder/gpu/calls/reservation_sizes.h"
#include "decoder/gpu/calls/time_scopes.h"

namespace headroom::gpu {

/// Work on one stream runs in the order in which it was given; between streams there is no order but that of
/// events. What runs beside the compute stream are parts of one call: a call begins and ends on that.
enum class Stream { compute, to_host, from_host, beside_compute };
constexpr int kStreams = 4;

/// Stands for all work that a stream had been given when the event was recorded.
enum class Event : int64_t {};

/// A GPU as a decode needs it: one reservation of its memory, one of pinned host memory, kernels, copies, and
/// events between streams. Nothing is allocated after the two reservations. To be called from one thread.
/// Every function throws DeviceError where the device or a library fails, naming what was asked.
class Gpu {
 public:
  virtual ~Gpu() = default;

  /// The card and its driver, e.g. "NVIDIA H200, driver 580.159".
  virtual std::string device() const = 0;
  /// Whatever decides times and workspaces, with versions: LibTorch, CUDA, cuDNN.
  virtual std::string libraries() const = 0;
  /// Free and total bytes as the driver tells.
  virtual int64_t free_bytes() const = 0;
  virtual int64_t total_bytes() const = 0;
  /// Growth of the card's memory use since this Gpu was opened, as the driver counts it: reservations,
  /// modules, libraries, and memory that other processes took meanwhile. The context counts only where the
  /// driver reported the use before it.
  virtual int64_t own_bytes() const = 0;
  /// Bytes that libraries took when they started. free_bytes() already excludes them.
  virtual int64_t library_bytes() const { return 0; }

  /// Sizes that reserve() takes of the card.
  virtual ReservationSizes reservation_sizes() const { return {}; }
  /// Takes the GPU's memory for a decode, once; aligned to 512 bytes. Throws LimitExceeded where the card
  /// does not have it.
  virtual std::byte* reserve(int64_t bytes) = 0;
  /// Takes pinned host memory. May be called several times. Throws LimitExceeded where the host refuses.
  virtual std::byte* reserve_host(int64_t bytes) = 0;
  /// Pinned host memory that stays until nobody holds it any more, whatever is released meanwhile. Throws
  /// LimitExceeded where the host refuses.
  virtual std::shared_ptr<std::byte> pin(int64_t bytes) = 0;
  /// Orders later work on all streams behind the work that the lender of the GPU's memory has queued.
  virtual void wait_for_lender() {}
  /// Frees both reservations, once all work is done.
  virtual void release() noexcept = 0;

  /// Starts a call on the compute stream.
  virtual void run(const Call& call) = 0;
  /// Starts a copy on a stream; at least one of the two sides is in the GPU's memory.
  virtual void copy(Stream stream, void* to, const void* from, int64_t bytes) = 0;
  /// Sets bytes to zero, on the compute stream.
  virtual void clear(void* memory, int64_t bytes) = 0;

  virtual Event record(Stream stream) = 0;
  /// Orders later work on `stream` behind `event`, which may have been recorded on the same stream.
  virtual void wait(Stream stream, Event event) = 0;
  /// Returns when `event` has happened; what kernels did wrong meanwhile is thrown here.
  virtual void wait_on_host(Event event) = 0;
  virtual bool happened(Event event) = 0;

  /// Names what is given from here on until it is closed, for other profilers (NVTX): ranges nest.
  virtual void open_range(const std::string& /*name*/) {}
  virtual void close_range() {}

  /// From here on `watch` is called with what LibTorch's allocator takes of this GPU and returns to it. An
  /// empty one ends that: once this has returned, the old one is called no more. False where nothing calls
  /// it. A process has one watch at a time, the newest.
  virtual bool watch_allocator(AllocatorWatch /*watch*/) { return false; }  // NOLINT: overrides keep it

  /// From here on the time that work takes is added up by its scope, where the GPU measures it, and runs of
  /// engines are counted.
  virtual void restart_scopes() {}
  /// The sums since then. All work must be done. None where the GPU does not measure.
  virtual std::optional<ScopeSeconds> scope_seconds() { return {}; }

  /// Engines that convolutions used since the last restart_scopes(). Empty where the GPU does not tell
  /// engines apart.
  virtual std::vector<EngineRuns> engine_runs() const { return {}; }
};

}  // namespace headroom::gpu
