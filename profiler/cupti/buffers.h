#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "profiler/cupti/kernel_names.h"
#include "profiler/cupti/library.h"
#include "profiler/cupti/open_cupti.h"

namespace headroom::profiler::cupti {

/// Events captured by a watcher.
class Recording {
 public:
  /// If `calls` is false, driver calls are dropped: CUPTI then records them only for their scopes.
  Recording(bool calls, size_t most_events) : calls_(calls), most_events_(most_events) {}

  /// Converts all records of a buffer. Thread-safe.
  void read(const Library& library, uint8_t* buffer, size_t bytes);
  void lose(int64_t records);

  bool has_activities() const { return has_activities_; }
  bool has_scopes() const { return has_scopes_; }
  /// Passes every event to `take` and forgets it. Events come in no order, except that the count of lost
  /// records comes last. No thread may call read() meanwhile.
  void hand_on(const std::function<void(DeviceEvent)>& take);

 private:
  struct StoredEvent {
    DeviceEvent event;
    int32_t name = -1;  ///< index of a kernel's name in names_
  };

  const bool calls_;
  const size_t most_events_;
  KernelNames names_;
  std::mutex mutex_;
  std::deque<StoredEvent> stored_;
  int64_t lost_ = 0;
  bool has_activities_ = false;
  bool has_scopes_ = false;
};

/// Buffers that CUPTI writes records into, and its two callbacks. CUPTI passes no user data to the callbacks
/// and may call them late, from its own threads. So there is one instance per process, it is never destroyed,
/// and it serves one recording at a time.
///
/// Records become events as soon as CUPTI returns a buffer, usually on CUPTI's own thread. So the conversion
/// does not slow the decode, and a few buffers suffice for any recording. About half of the data is dropped
/// at once, some 300 bytes for each kernel.
class Buffers {
 public:
  static Buffers& of_process();

  /// Starts to serve buffers for this recording. Returns false if another recording is active.
  bool begin(const Library& library, const CuptiBounds& bounds, std::shared_ptr<Recording> recording);
  /// Stops serving. Waits for threads that are reading records and drops later buffers.
  void end();

  /// CUPTI's callbacks.
  static void CUPTIAPI request(uint8_t** buffer, size_t* bytes, size_t* most_records);
  static void CUPTIAPI complete(CUcontext, uint32_t stream, uint8_t* buffer, size_t bytes,
                                size_t valid_bytes);

 private:
  struct Buffer {
    uint8_t* memory;
    size_t bytes;
    uint64_t lent_for;  ///< number of the recording that uses it; 0: not lent
  };

  uint8_t* lend(size_t& bytes);
  void take_back(uint8_t* memory, size_t valid_bytes);
  void drop(uint8_t* memory);

  std::mutex mutex_;
  std::condition_variable read_;
  std::vector<Buffer> buffers_;
  const Library* library_ = nullptr;
  std::shared_ptr<Recording> recording_;  ///< null while nothing is captured
  CuptiBounds bounds_;
  uint64_t number_ = 0;  ///< number of the current recording
  int reading_ = 0;      ///< threads that are reading a buffer of this recording
};

}  // namespace headroom::profiler::cupti
