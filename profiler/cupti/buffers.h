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

/// The events that a watcher has captured.
class Recording {
 public:
  /// Calls to the driver are dropped unless they were asked for: CUPTI records some for their scopes alone.
  Recording(bool calls, size_t most_events) : calls_(calls), most_events_(most_events) {}

  /// All records of a buffer. From any thread.
  void read(const Library& library, uint8_t* buffer, size_t bytes);
  void lose(int64_t records);

  bool has_activities() const { return has_activities_; }
  bool has_scopes() const { return has_scopes_; }
  /// In no order, the count of what was lost last; forgets them on the way. Nobody may read meanwhile.
  void hand_on(const std::function<void(DeviceEvent)>& take);

 private:
  struct StoredEvent {
    DeviceEvent event;
    int32_t name = -1;  ///< of a kernel
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

/// The memory that CUPTI writes records into, and its two callbacks. These come without any data of ours and
/// from CUPTI's own threads as well, even late: so there is one of these in a process, it is never destroyed,
/// and one recording at a time is served.
///
/// Records become events as soon as CUPTI hands a buffer back, which it does from its own thread as a rule,
/// not from the one that gives the GPU its work: that costs the decode no time, a handful of buffers is
/// enough for any length, and half of the records, some 300 bytes for each kernel, is forgotten at once.
class Buffers {
 public:
  static Buffers& of_process();

  /// From now on CUPTI gets buffers. False where another recording is being served.
  bool begin(const Library& library, const CuptiBounds& bounds, std::shared_ptr<Recording> recording);
  /// No more. Waits for records that are being read; what comes later is dropped.
  void end();

  /// To be registered with CUPTI.
  static void CUPTIAPI request(uint8_t** buffer, size_t* bytes, size_t* most_records);
  static void CUPTIAPI complete(CUcontext, uint32_t stream, uint8_t* buffer, size_t bytes,
                                size_t valid_bytes);

 private:
  struct Buffer {
    uint8_t* memory;
    size_t bytes;
    uint64_t lent_for;  ///< number of the recording; 0: not lent
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
  uint64_t number_ = 0;  ///< of the recording
  int reading_ = 0;      ///< threads that read a buffer of it
};

}  // namespace headroom::profiler::cupti
