#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decoder/devices/device_record.h"
#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/calls/device_memory.h"
#include "decoder/plan/engine_choice.h"

namespace headroom::gpu {

/// Uses of a GPU's time: kinds of calls, waiting, and copies to and from the host.
enum class TimeScope { convolution, attention, elementwise, waiting, copies };
constexpr int kTimeScopes = 5;
const char* name_of(TimeScope scope);
/// Seconds by scope. Copies overlap with the other scopes.
using ScopeSeconds = std::array<double, kTimeScopes>;

/// The scope of a call. Sums of keys and values belong to attention. Norms, data movement and statistics are
/// elementwise.
TimeScope scope_of(const Call& call);

/// Number of convolutions that one engine ran: a library's engine, or our own kernels.
struct EngineRuns {
  std::string name;       ///< the library's, with the engine's number, e.g. "cuDNN 41" or "cuDNN 41 by time"
  bool compiled = false;  ///< the engine compiles its kernels at run time
  int64_t runs = 0;
};

/// Work on one stream runs in the order in which it was queued. Only events order work between streams.
/// `beside_compute` runs parts of a call concurrently; every call begins and ends on `compute`.
enum class Stream { compute, to_host, from_host, beside_compute };
constexpr int kStreams = 4;

/// Marks all work that was queued on a stream when the event was recorded.
enum class Event : int64_t {};

/// A GPU as a decode needs it: reservations of GPU memory and pinned host memory, kernels, copies, and events
/// between streams. Kernels and copies allocate nothing. Not thread-safe: call it from one thread. Every
/// function throws DeviceError, which names the failed call, if the device or a library fails.
class Gpu {
 public:
  virtual ~Gpu() = default;

  /// The kind of device that plans for it name.
  virtual DeviceKind kind() const { return DeviceKind::cuda; }

  /// The card and its driver, e.g. "NVIDIA H200, driver 580.159".
  virtual std::string device() const = 0;
  /// Libraries that affect times and workspaces, with versions: LibTorch, CUDA, cuDNN.
  virtual std::string libraries() const = 0;
  /// Free and total bytes of the card, from the driver.
  virtual int64_t free_bytes() const = 0;
  virtual int64_t total_bytes() const = 0;
  /// Growth of the card's memory use since this Gpu was opened, as the driver counts it: reservations,
  /// modules, libraries, and memory that other processes took meanwhile. The CUDA context counts only if the
  /// driver reported the use before its creation.
  virtual int64_t own_bytes() const = 0;
  /// Bytes that libraries allocated when they started. free_bytes() already excludes them.
  virtual int64_t library_bytes() const { return 0; }

  /// Granularity of reserve().
  virtual ReservationSizes reservation_sizes() const { return {}; }
  /// Reserves the GPU memory of a decode, once. The result is aligned to 512 bytes. Throws LimitExceeded if
  /// the card has too little memory.
  virtual std::byte* reserve(int64_t bytes) = 0;
  /// Reserves pinned host memory. May be called several times. Throws LimitExceeded if the host refuses.
  virtual std::byte* reserve_host(int64_t bytes) = 0;
  /// Allocates pinned host memory that the caller owns: release() does not free it. Throws LimitExceeded if
  /// the host refuses.
  virtual std::shared_ptr<std::byte> pin(int64_t bytes) = 0;
  /// Makes later work on all streams wait for work that the allocator's stream has queued
  /// (DeviceMemory::stream()).
  virtual void wait_for_lender() {}
  /// Waits for all work, then frees the reservations of GPU and host memory.
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
  /// Blocks until `event` has happened. Throws errors of kernels that ran meanwhile.
  virtual void wait_on_host(Event event) = 0;
  virtual bool happened(Event event) = 0;

  /// Opens a named NVTX range, shown by profilers such as Nsight Systems. Ranges nest.
  virtual void open_range(const std::string& /*name*/) {}
  virtual void close_range() {}

  /// Calls `watch` from now on for all memory that LibTorch's allocator takes from this GPU and returns. It
  /// replaces the process's previous watch, which is not called again once this function returns. An empty
  /// `watch` only ends the previous one. Returns false if the allocator cannot be watched.
  virtual bool watch_allocator(AllocatorWatch /*watch*/) { return false; }  // NOLINT: overrides keep it

  /// Restarts the timing of work by scope, if the GPU measures it, and the counts of engine runs.
  virtual void restart_scopes() {}
  /// Seconds by scope since restart_scopes(). All work must be done. Empty if the GPU does not measure time.
  virtual std::optional<ScopeSeconds> scope_seconds() { return {}; }

  /// Runs `work` and times all engines that a library offers for each convolution in it, once for each
  /// problem. The results of `work` are invalid: timed convolutions run several times, also those that add to
  /// their own result. Does nothing if the GPU has no choice of engines.
  virtual std::vector<EngineChoice> time_engines(const std::function<void()>& /*work*/) { return {}; }
  /// Runs convolutions by these choices from now on, if the library offers the engine and its workspace fits.
  /// All other convolutions run by the library's own order. Replaces earlier choices.
  virtual void prefer_engines(const std::vector<EngineChoice>& /*choices*/) {}

  /// Engines that convolutions used since the last restart_scopes(). Empty if the GPU does not tell engines
  /// apart.
  virtual std::vector<EngineRuns> engine_runs() const { return {}; }
};

}  // namespace headroom::gpu
