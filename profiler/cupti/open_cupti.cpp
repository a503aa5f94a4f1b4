#include "profiler/cupti/open_cupti.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <utility>

#include "profiler/cupti/buffers.h"
#include "profiler/cupti/calls.h"
#include "profiler/cupti/library.h"

namespace headroom::profiler {
namespace {

using cupti::CallUse;

/// Limit on the 3.2 MB buffers that CUPTI pins for kernel and copy times. They hold 1.6 million activities
/// that have started and are not done.
constexpr size_t kPinnedBuffers = 16;

int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

/// True while this thread has an external id on CUPTI's stack. That stack outlives watchers.
thread_local bool has_external_id = false;

/// Result of enabling the calls of one use.
struct CallsEnabled {
  size_t enabled = 0, refused = 0;
  CUptiResult refusal = CUPTI_SUCCESS;  ///< first error
  CUptiResult result() const { return enabled > 0 ? CUPTI_SUCCESS : refusal; }
};

/// Distinct kinds in their first order.
std::vector<WatchKind> distinct(const std::vector<WatchKind>& kinds) {
  std::vector<WatchKind> once;
  for (WatchKind kind : kinds)
    if (std::find(once.begin(), once.end(), kind) == once.end()) once.push_back(kind);
  return once;
}

class CuptiWatcher final : public DeviceWatcher {
 public:
  CuptiWatcher(const std::vector<WatchKind>& kinds, const std::vector<std::filesystem::path>& libraries,
               const CuptiBounds& bounds);
  ~CuptiWatcher() override { stop(); }
  CuptiWatcher(const CuptiWatcher&) = delete;
  CuptiWatcher& operator=(const CuptiWatcher&) = delete;

  int64_t now_ns() const override;
  void enter(ScopeId scope) noexcept override;
  void finish(const std::function<void(DeviceEvent)>& take) noexcept override;
  std::vector<TraceSource> sources() const override;

 private:
  bool asked(WatchKind kind) const { return std::find(kinds_.begin(), kinds_.end(), kind) != kinds_.end(); }
  /// Prepares CUPTI so that kinds can be enabled. Returns the reason if that fails, or an empty string.
  std::string begin(const std::vector<std::filesystem::path>& libraries, const CuptiBounds& bounds);
  std::string subscribe();
  void set_attributes();
  template <typename Value>
  CUptiResult set(CUpti_ActivityAttribute attribute, Value value) const;
  /// Returns the first error.
  CUptiResult enable(const std::vector<CUpti_ActivityKind>& kinds);
  CallsEnabled enable_calls(CallUse use);
  CUptiResult set_call(const cupti::TracedCall& call, bool on) const;
  void enable_scopes();
  std::string why(const char* call, CUptiResult result) const;
  void listen_to(WatchKind kind);
  void stop() noexcept;

  const std::vector<WatchKind> kinds_;
  const cupti::Library* library_ = nullptr;
  std::shared_ptr<cupti::Recording> recording_;  ///< null if nothing can be captured
  bool stopped_ = false;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::atomic<bool> listening_ = false;
  int64_t cupti_ahead_ns_ = 0;  ///< CUPTI's clock minus the steady clock, at start
  std::vector<CUpti_ActivityKind> enabled_kinds_;
  std::vector<cupti::TracedCall> enabled_calls_;
  std::vector<TraceSource> sources_;
  std::atomic<bool> entered_ = false;  ///< any scope was entered
  std::atomic<int64_t> scopes_failed_ = 0;
  std::atomic<int> scope_error_ = CUPTI_SUCCESS;  ///< last error
};

CuptiWatcher::CuptiWatcher(const std::vector<WatchKind>& kinds,
                           const std::vector<std::filesystem::path>& libraries, const CuptiBounds& bounds)
    : kinds_(distinct(kinds)) {
  const std::string failure = begin(libraries, bounds);
  if (!failure.empty()) {
    for (WatchKind kind : kinds_) sources_.push_back({cupti_source(kind), false, failure});
    stop();
    return;
  }
  listening_ = true;
  enable_scopes();
  for (WatchKind kind : kinds_) listen_to(kind);
}

std::string CuptiWatcher::begin(const std::vector<std::filesystem::path>& libraries,
                                const CuptiBounds& bounds) {
  const cupti::LoadedLibrary loaded = cupti::load_library(libraries);
  library_ = loaded.library;
  if (library_ == nullptr) return loaded.why_not;
  uint64_t now = 0;
  if (library_->get_timestamp(&now) == CUPTI_SUCCESS)
    cupti_ahead_ns_ = static_cast<int64_t>(now) - steady_ns();
  recording_ = std::make_shared<cupti::Recording>(asked(WatchKind::calls), bounds.events);
  if (!cupti::Buffers::of_process().begin(*library_, bounds, recording_)) {
    recording_ = nullptr;
    return "another watcher of this process is capturing";
  }
  std::string failure = subscribe();
  if (!failure.empty()) return failure;
  set_attributes();  // before CUPTI allocates memory
  const CUptiResult result =
      library_->register_callbacks(&cupti::Buffers::request, &cupti::Buffers::complete);
  return result == CUPTI_SUCCESS ? "" : why("cuptiActivityRegisterCallbacks", result);
}

std::string CuptiWatcher::why(const char* call, CUptiResult result) const {
  return std::string(call) + ": " + library_->text(result);
}

std::string CuptiWatcher::subscribe() {
  // The callback does nothing. The subscription keeps other profilers from taking the records.
  const CUpti_CallbackFunc nothing = [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {};
  std::array<char, 2 * CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> holder{};
  CUpti_SubscriberParams parameters{};
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "Headroom";
  parameters.oldSubscriberName = holder.data();
  parameters.oldSubscriberSize = holder.size() - 1;
  const CUptiResult result = library_->subscribe(&subscriber_, nothing, nullptr, &parameters);
  if (result == CUPTI_SUCCESS) return {};
  subscriber_ = nullptr;
  std::string name = holder.data();
  for (char& c : name)
    if (c < ' ' || c > '~') c = '?';
  if (result != CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) return why("cuptiSubscribe", result);
  return library_->text(result) + (name.empty() ? "" : ": held by " + name);
}

template <typename Value>
CUptiResult CuptiWatcher::set(CUpti_ActivityAttribute attribute, Value value) const {
  size_t bytes = sizeof value;
  return library_->set_attribute(attribute, &bytes, &value);
}

void CuptiWatcher::set_attributes() {
  const CUptiResult pinned = set<uint8_t>(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, 1);
  if (pinned != CUPTI_SUCCESS)
    sources_.push_back(
        {"CUPTI in host memory", false, library_->text(pinned) + ": CUPTI's buffers use GPU memory"});
  // Neither attribute changes the captured events.
  set<size_t>(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, kPinnedBuffers);
  set<uint8_t>(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
}

CUptiResult CuptiWatcher::enable(const std::vector<CUpti_ActivityKind>& kinds) {
  for (CUpti_ActivityKind kind : kinds) {
    const CUptiResult result = library_->enable(kind);
    if (result != CUPTI_SUCCESS) return result;
    enabled_kinds_.push_back(kind);
  }
  return CUPTI_SUCCESS;
}

CUptiResult CuptiWatcher::set_call(const cupti::TracedCall& call, bool on) const {
  const auto set_it =
      call.kind == CUPTI_ACTIVITY_KIND_DRIVER ? library_->enable_driver_call : library_->enable_runtime_call;
  return set_it(call.id, on ? 1 : 0);
}

CallsEnabled CuptiWatcher::enable_calls(CallUse use) {
  CallsEnabled all;
  for (const cupti::TracedCall& call : cupti::traced_calls()) {
    if (call.use != use) continue;
    const CUptiResult result = set_call(call, true);
    if (result == CUPTI_SUCCESS) {
      enabled_calls_.push_back(call);
      ++all.enabled;
    } else if (all.refused++ == 0) {
      all.refusal = result;
    }
  }
  return all;
}

void CuptiWatcher::enable_scopes() {
  // CUPTI reports scopes only for calls that it records. Device activities carry the number of their call.
  const bool of_memory = asked(WatchKind::memory) || asked(WatchKind::calls);
  if (!asked(WatchKind::kernels) && !asked(WatchKind::copies) && !of_memory) return;
  CUptiResult result = enable({CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION});
  const auto use = [&](CallUse use_of, bool wanted) {
    if (wanted && result == CUPTI_SUCCESS) result = enable_calls(use_of).result();
  };
  use(CallUse::launch, asked(WatchKind::kernels));
  use(CallUse::copy, asked(WatchKind::copies));
  use(CallUse::memory, asked(WatchKind::memory) && !asked(WatchKind::calls));  // calls enables them too
  if (result != CUPTI_SUCCESS) sources_.push_back({"CUPTI scopes", false, library_->text(result)});
}

void CuptiWatcher::listen_to(WatchKind kind) {
  CUptiResult result = CUPTI_SUCCESS;
  std::string detail = library_->version();
  switch (kind) {
    case WatchKind::kernels:
      result = enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
      break;
    case WatchKind::copies:
      result = enable({CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET});
      break;
    case WatchKind::memory:
      result = enable({CUPTI_ACTIVITY_KIND_MEMORY2});
      break;
    case WatchKind::pools:
      result = enable({CUPTI_ACTIVITY_KIND_MEMORY_POOL});
      break;
    case WatchKind::calls: {
      const CallsEnabled calls = enable_calls(CallUse::memory);
      result = calls.result();
      if (calls.refused > 0)
        detail += ", without " + std::to_string(calls.refused) + " calls: " + library_->text(calls.refusal);
      break;
    }
  }
  const bool captured = result == CUPTI_SUCCESS;
  sources_.push_back({cupti_source(kind), captured, captured ? detail : library_->text(result)});
}

int64_t CuptiWatcher::now_ns() const {
  uint64_t now = 0;
  if (library_ != nullptr && library_->get_timestamp(&now) == CUPTI_SUCCESS) return static_cast<int64_t>(now);
  return steady_ns() + cupti_ahead_ns_;
}

void CuptiWatcher::enter(ScopeId scope) noexcept {
  if (!listening_) return;
  const auto count = [&](CUptiResult result) {
    if (result == CUPTI_SUCCESS) return true;
    ++scopes_failed_;
    scope_error_ = result;
    return false;
  };
  if (has_external_id) count(library_->pop_external_id(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, nullptr));
  has_external_id =
      scope != kNoScope && count(library_->push_external_id(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                                            static_cast<uint64_t>(scope)));
  if (has_external_id) entered_ = true;
}

void CuptiWatcher::stop() noexcept {
  if (recording_ == nullptr || std::exchange(stopped_, true)) return;
  enter(kNoScope);
  if (listening_.exchange(false)) {
    const CUptiResult flushed = library_->flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    if (flushed != CUPTI_SUCCESS)
      sources_.push_back({"CUPTI records", false, why("cuptiActivityFlushAll", flushed)});
    for (CUpti_ActivityKind kind : enabled_kinds_) library_->disable(kind);
    for (const cupti::TracedCall& call : enabled_calls_) set_call(call, false);
    size_t dropped = 0;
    if (library_->get_dropped_records(nullptr, 0, &dropped) == CUPTI_SUCCESS && dropped > 0)
      recording_->lose(static_cast<int64_t>(dropped));
  }
  if (subscriber_ != nullptr) library_->unsubscribe(subscriber_);
  subscriber_ = nullptr;
  cupti::Buffers::of_process().end();
  if (entered_ && recording_->has_activities() && !recording_->has_scopes())
    sources_.push_back({"CUPTI scopes", false, "no call was recorded with its scope"});
  if (scopes_failed_ > 0)
    sources_.push_back({"CUPTI scopes", false,
                        std::to_string(scopes_failed_) + " were not taken: " +
                            library_->text(static_cast<CUptiResult>(scope_error_.load()))});
}

void CuptiWatcher::finish(const std::function<void(DeviceEvent)>& take) noexcept {
  stop();
  if (recording_ == nullptr) return;
  try {
    recording_->hand_on(take);
  } catch (...) {  // `take` ran out of memory; the events it has may still be useful
  }
}

std::vector<TraceSource> CuptiWatcher::sources() const {
  return sources_;
}

}  // namespace

std::vector<std::filesystem::path> cupti_libraries() {
  return {HEADROOM_CUPTI_LIBRARY, "libcupti.so.13"};
}

std::unique_ptr<DeviceWatcher> watch_with_cupti(const std::vector<WatchKind>& kinds,
                                                const std::vector<std::filesystem::path>& libraries,
                                                const CuptiBounds& bounds) {
  return std::make_unique<CuptiWatcher>(kinds, libraries, bounds);
}

}  // namespace headroom::profiler
