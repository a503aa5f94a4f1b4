#pragma once

#include <cupti.h>

#include <string>
#include <vector>

namespace headroom::test {}
namespace headroom::profiler::test {
using namespace headroom::test;

/// A library in CUPTI's place, which records what a test makes up and fails where it is told to.
class FakeCupti {
 public:
  virtual ~FakeCupti() = default;

  /// Returns to the state after loading. Forgets buffers that were not handed back.
  virtual void reset() = 0;

  /// From here on: a function, a kind of records, a call.
  virtual void fail(const std::string& function, CUptiResult result) = 0;
  virtual void fail_kind(CUpti_ActivityKind kind, CUptiResult result) = 0;
  virtual void fail_call(CUpti_ActivityKind kind, CUpti_CallbackId id, CUptiResult result) = 0;
  /// Another one has subscribed already.
  virtual void hold(const std::string& name) = 0;
  virtual void set_now(uint64_t ns) = 0;
  /// Flushing hands back nothing, as if CUPTI were late.
  virtual void keep_back(bool keep) = 0;
  /// Flushing comes back while the buffers are still being read.
  virtual void read_slowly() = 0;
  virtual void count_dropped(size_t records) = 0;

  /// The calling thread makes a call of the runtime, which makes one of the driver; returns their number.
  /// Recorded as far as it is enabled, with the thread's external id.
  virtual uint32_t call(CUpti_CallbackId runtime, CUpti_CallbackId driver, uint64_t begin, uint64_t end) = 0;
  /// Recorded by the calling thread where its kind is enabled. A kernel's and so on.
  virtual void record(const CUpti_Activity* record) = 0;
  /// Something that is no record at all.
  virtual void record_nonsense() = 0;
  /// Hands back all buffers that have records, the newest first and each from a thread of its own.
  virtual void deliver() = 0;

  /// Calls in order: "subscribe Headroom", "attribute 8 = 1", "enable 10", "call 4 562 on".
  virtual std::vector<std::string> log() = 0;
  virtual std::vector<CUpti_ActivityKind> enabled_kinds() = 0;
  virtual bool records_call(CUpti_ActivityKind kind, CUpti_CallbackId id) = 0;
  virtual size_t enabled_calls() = 0;
  /// External ids of the calling thread.
  virtual std::vector<uint64_t> external_ids() = 0;
  virtual bool subscribed() = 0;
  /// Buffers that it has asked for, those that were refused, and those that had something in them.
  virtual size_t buffers_taken() = 0;
  virtual size_t buffers_refused() = 0;
  virtual size_t buffers_not_clean() = 0;
};

using GetFakeCupti = FakeCupti* (*)();
constexpr const char* kGetFakeCupti = "headroom_fake_cupti";

}  // namespace headroom::profiler::test
