#include "tests/profiler/cupti/fake_cupti.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace headroom::profiler::test {
namespace {

struct Written {
  uint8_t* memory;
  size_t bytes, used;
  std::thread::id writer;
};

size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      return sizeof(CUpti_ActivityMemoryPool3);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
    default:
      return 0;
  }
}

class Fake final : public FakeCupti {
 public:
  static Fake& instance() {
    static Fake fake;
    return fake;
  }

  ~Fake() override { await_slow(); }

  void reset() override {
    await_slow();
    const std::lock_guard lock(mutex_);
    failing_.clear();
    failing_kinds_.clear();
    failing_calls_.clear();
    holder_.clear();
    log_.clear();
    kinds_.clear();
    calls_.clear();
    written_.clear();
    externals_.clear();
    subscribed_ = keep_back_ = slow_ = reading_ = false;
    now_ = 1'000'000;
    dropped_ = taken_ = refused_ = not_clean_ = 0;
    correlation_ = 0;
    request_ = nullptr;
    complete_ = nullptr;
  }

  void fail(const std::string& function, CUptiResult result) override { failing_[function] = result; }
  void fail_kind(CUpti_ActivityKind kind, CUptiResult result) override { failing_kinds_[kind] = result; }
  void fail_call(CUpti_ActivityKind kind, CUpti_CallbackId id, CUptiResult result) override {
    failing_calls_[{kind, id}] = result;
  }
  void hold(const std::string& name) override { holder_ = name; }
  void set_now(uint64_t ns) override { now_ = ns; }
  void keep_back(bool keep) override { keep_back_ = keep; }
  void read_slowly() override { slow_ = true; }
  void count_dropped(size_t records) override { dropped_ += records; }

  uint32_t call(CUpti_CallbackId runtime, CUpti_CallbackId driver, uint64_t begin, uint64_t end) override {
    const std::lock_guard lock(mutex_);
    const uint32_t number = ++correlation_;
    // The inner one is over first.
    record_call(CUPTI_ACTIVITY_KIND_DRIVER, driver, begin + 1, end - 1, number);
    record_call(CUPTI_ACTIVITY_KIND_RUNTIME, runtime, begin, end, number);
    return number;
  }

  void record(const CUpti_Activity* record) override {
    const std::lock_guard lock(mutex_);
    if (kinds_.count(record->kind) != 0) write(record);
  }

  void record_nonsense() override {
    const std::lock_guard lock(mutex_);
    const CUpti_ActivityKernel10 nothing{};
    write(reinterpret_cast<const CUpti_Activity*>(&nothing));
  }

  void deliver() override {
    std::vector<Written> all;
    {
      const std::lock_guard lock(mutex_);
      all = std::exchange(written_, {});
    }
    std::reverse(all.begin(), all.end());
    std::vector<std::thread> threads;
    for (const Written& one : all)
      threads.emplace_back([&] { complete_(nullptr, 0, one.memory, one.bytes, one.used); });
    for (std::thread& thread : threads) thread.join();
  }

  std::vector<std::string> log() override { return log_; }
  std::vector<CUpti_ActivityKind> enabled_kinds() override { return {kinds_.begin(), kinds_.end()}; }
  bool records_call(CUpti_ActivityKind kind, CUpti_CallbackId id) override {
    return calls_.count({kind, id}) != 0;
  }
  size_t enabled_calls() override { return calls_.size(); }
  std::vector<uint64_t> external_ids() override {
    const std::lock_guard lock(mutex_);
    return externals_[std::this_thread::get_id()];
  }
  bool subscribed() override { return subscribed_; }
  size_t buffers_taken() override { return taken_; }
  size_t buffers_refused() override { return refused_; }
  size_t buffers_not_clean() override { return not_clean_; }

  // Implementations of the library's functions.

  CUptiResult result(const char* function) {
    const auto found = failing_.find(function);
    return found == failing_.end() ? CUPTI_SUCCESS : found->second;
  }

  CUptiResult subscribe(CUpti_SubscriberHandle* subscriber, const CUpti_SubscriberParams* parameters) {
    log_.push_back("subscribe " + std::string(parameters == nullptr ? "" : parameters->subscriberName));
    if (subscribed_ || !holder_.empty()) {
      if (parameters != nullptr && parameters->oldSubscriberName != nullptr)
        std::strncpy(parameters->oldSubscriberName, holder_.c_str(), parameters->oldSubscriberSize);
      return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    if (result("cuptiSubscribe") != CUPTI_SUCCESS) return result("cuptiSubscribe");
    subscribed_ = true;
    *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(this);
    return CUPTI_SUCCESS;
  }

  CUptiResult unsubscribe(CUpti_SubscriberHandle subscriber) {
    log_.push_back("unsubscribe");
    if (subscriber != reinterpret_cast<CUpti_SubscriberHandle>(this) || !subscribed_)
      return CUPTI_ERROR_INVALID_PARAMETER;
    subscribed_ = false;
    return CUPTI_SUCCESS;
  }

  CUptiResult set_attribute(CUpti_ActivityAttribute attribute, const size_t* bytes, const void* value) {
    uint64_t number = 0;
    std::memcpy(&number, value, *bytes);
    log_.push_back("attribute " + std::to_string(attribute) + " = " + std::to_string(number));
    return result("cuptiActivitySetAttribute");
  }

  CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc requests,
                                 CUpti_BuffersCallbackCompleteFunc completes) {
    log_.push_back("callbacks");
    if (result("cuptiActivityRegisterCallbacks") != CUPTI_SUCCESS)
      return result("cuptiActivityRegisterCallbacks");
    request_ = requests;
    complete_ = completes;
    return CUPTI_SUCCESS;
  }

  CUptiResult enable(CUpti_ActivityKind kind, bool on) {
    log_.push_back((on ? "enable " : "disable ") + std::to_string(kind));
    const auto failing = failing_kinds_.find(kind);
    if (failing != failing_kinds_.end()) return failing->second;
    if (on) {
      kinds_.insert(kind);
    } else {
      kinds_.erase(kind);
    }
    return CUPTI_SUCCESS;
  }

  CUptiResult enable_call(CUpti_ActivityKind kind, CUpti_CallbackId id, bool on) {
    log_.push_back("call " + std::to_string(kind) + " " + std::to_string(id) + (on ? " on" : " off"));
    const auto failing = failing_calls_.find({kind, id});
    if (failing != failing_calls_.end()) return failing->second;
    if (result("cuptiActivityEnableApi") != CUPTI_SUCCESS) return result("cuptiActivityEnableApi");
    if (on) {
      calls_.insert({kind, id});
    } else {
      calls_.erase({kind, id});
    }
    return CUPTI_SUCCESS;
  }

  CUptiResult flush(uint32_t flag) {
    log_.push_back("flush " + std::to_string(flag));
    if (result("cuptiActivityFlushAll") != CUPTI_SUCCESS) return result("cuptiActivityFlushAll");
    if (slow_) {
      slow_delivery_ = std::thread([this] { deliver(); });
      while (!reading_) std::this_thread::yield();
    } else if (!keep_back_) {
      deliver();
    }
    return CUPTI_SUCCESS;
  }

  CUptiResult push(uint64_t id) {
    if (result("push") != CUPTI_SUCCESS) return result("push");
    const std::lock_guard lock(mutex_);
    externals_[std::this_thread::get_id()].push_back(id);
    return CUPTI_SUCCESS;
  }

  CUptiResult pop() {
    if (result("pop") != CUPTI_SUCCESS) return result("pop");
    const std::lock_guard lock(mutex_);
    std::vector<uint64_t>& ids = externals_[std::this_thread::get_id()];
    if (ids.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
    ids.pop_back();
    return CUPTI_SUCCESS;
  }

  CUptiResult dropped(size_t* records) {
    const std::lock_guard lock(mutex_);
    *records = std::exchange(dropped_, 0);
    return CUPTI_SUCCESS;
  }

  void wait_where_slow() {
    reading_ = true;
    if (slow_) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }

  uint64_t now() const { return now_; }

 private:
  void await_slow() {
    if (slow_delivery_.joinable()) slow_delivery_.join();
  }

  void record_call(CUpti_ActivityKind kind, CUpti_CallbackId id, uint64_t begin, uint64_t end,
                   uint32_t number) {
    if (calls_.count({kind, id}) == 0) return;
    const std::vector<uint64_t>& externals = externals_[std::this_thread::get_id()];
    if (!externals.empty() && kinds_.count(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) != 0) {
      CUpti_ActivityExternalCorrelation external{};
      external.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
      external.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
      external.externalId = externals.back();
      external.correlationId = number;
      write(reinterpret_cast<const CUpti_Activity*>(&external));
    }
    CUpti_ActivityAPI api{};
    api.kind = kind;
    api.cbid = id;
    api.start = begin;
    api.end = end;
    api.correlationId = number;
    write(reinterpret_cast<const CUpti_Activity*>(&api));
  }

  /// Into the buffer of this thread.
  void write(const CUpti_Activity* record) {
    // Bytes that are no record count as the smallest record.
    const size_t bytes = std::max(size_of(record->kind), sizeof(CUpti_ActivityExternalCorrelation));
    const auto mine = std::find_if(written_.rbegin(), written_.rend(), [](const Written& one) {
      return one.writer == std::this_thread::get_id();
    });
    Written* into = mine == written_.rend() ? nullptr : &*mine;
    if (into == nullptr || into->bytes - into->used < bytes) into = request();
    if (into == nullptr || into->bytes - into->used < bytes) {
      ++dropped_;
      return;
    }
    std::memcpy(into->memory + into->used, record, bytes);
    into->used += bytes;
  }

  Written* request() {
    uint8_t* memory = nullptr;
    size_t bytes = 0, most = 1;
    request_(&memory, &bytes, &most);
    if (memory == nullptr) {
      ++refused_;
      return nullptr;
    }
    ++taken_;
    if (reinterpret_cast<uintptr_t>(memory) % 8 != 0 ||
        std::any_of(memory, memory + bytes, [](uint8_t byte) { return byte != 0; }))
      ++not_clean_;
    written_.push_back({memory, bytes, 0, std::this_thread::get_id()});
    return &written_.back();
  }

  std::mutex mutex_;
  std::map<std::string, CUptiResult> failing_;
  std::map<CUpti_ActivityKind, CUptiResult> failing_kinds_;
  std::map<std::pair<CUpti_ActivityKind, CUpti_CallbackId>, CUptiResult> failing_calls_;
  std::string holder_;
  std::vector<std::string> log_;
  std::set<CUpti_ActivityKind> kinds_;
  std::set<std::pair<CUpti_ActivityKind, CUpti_CallbackId>> calls_;
  std::vector<Written> written_;
  std::map<std::thread::id, std::vector<uint64_t>> externals_;
  bool subscribed_ = false, keep_back_ = false;
  std::thread slow_delivery_;
  std::atomic<bool> slow_ = false, reading_ = false;
  uint64_t now_ = 1'000'000;
  size_t dropped_ = 0, taken_ = 0, refused_ = 0, not_clean_ = 0;
  uint32_t correlation_ = 0;
  CUpti_BuffersCallbackRequestFunc request_ = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ = nullptr;
};

Fake& fake() {
  return Fake::instance();
}

}  // namespace

extern "C" FakeCupti* headroom_fake_cupti() {
  return &fake();
}

}  // namespace headroom::profiler::test

using headroom::profiler::test::fake;

extern "C" {

CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = 130001;
  return fake().result("cuptiGetVersion");
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  switch (result) {
    case CUPTI_ERROR_NOT_SUPPORTED:
      *text = "CUPTI_ERROR_NOT_SUPPORTED";
      return CUPTI_SUCCESS;
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
      return CUPTI_SUCCESS;
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
      return CUPTI_SUCCESS;
    default:
      return CUPTI_ERROR_INVALID_PARAMETER;
  }
}

CUptiResult cuptiGetTimestamp(uint64_t* timestamp) {
  *timestamp = fake().now();
  return fake().result("cuptiGetTimestamp");
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc, void*,
                              CUpti_SubscriberParams* parameters) {
  if (parameters->structSize != CUpti_SubscriberParams_STRUCT_SIZE) return CUPTI_ERROR_INVALID_PARAMETER;
  return fake().subscribe(subscriber, parameters);
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  return fake().unsubscribe(subscriber);
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t* bytes, void* value) {
  return fake().set_attribute(attribute, bytes, value);
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  return fake().register_callbacks(request, complete);
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  return fake().enable(kind, true);
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  return fake().enable(kind, false);
}
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t on) {
  return fake().enable_call(CUPTI_ACTIVITY_KIND_DRIVER, id, on != 0);
}
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t on) {
  return fake().enable_call(CUPTI_ACTIVITY_KIND_RUNTIME, id, on != 0);
}

CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  return fake().flush(flag);
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t bytes, CUpti_Activity** record) {
  if (*record == nullptr) fake().wait_where_slow();
  size_t at = 0;
  if (*record != nullptr)
    at = static_cast<size_t>(reinterpret_cast<uint8_t*>(*record) - buffer) +
         headroom::profiler::test::size_of((*record)->kind);
  if (at >= bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  auto* next = reinterpret_cast<CUpti_Activity*>(buffer + at);
  if (headroom::profiler::test::size_of(next->kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  *record = next;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  return fake().dropped(dropped);
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  return kind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 ? fake().push(id) : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t*) {
  return kind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 ? fake().pop() : CUPTI_ERROR_INVALID_PARAMETER;
}
}
