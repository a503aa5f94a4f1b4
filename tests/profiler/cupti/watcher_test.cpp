#include <dlfcn.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "profiler/cupti/open_cupti.h"
#include "tests/profiler/cupti/fake_cupti.h"
#include "tests/profiler/cupti/made_up_records.h"

namespace headroom::profiler {
namespace {

using Catch::Matchers::Contains;
using test::any;
using test::FakeCupti;

constexpr CUpti_CallbackId kRuntimeLaunch = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
constexpr CUpti_CallbackId kDriverLaunch = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
constexpr CUpti_CallbackId kRuntimeMalloc = CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020;
constexpr CUpti_CallbackId kDriverMalloc = CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2;
constexpr auto kTaken = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
constexpr auto kReleased = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
const std::vector<WatchKind> kAll{WatchKind::kernels, WatchKind::copies, WatchKind::memory, WatchKind::pools,
                                  WatchKind::calls};

FakeCupti& open_fake(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto get = reinterpret_cast<test::GetFakeCupti>(dlsym(library, test::kGetFakeCupti));
  REQUIRE(get != nullptr);
  FakeCupti& fake = *get();
  fake.reset();
  return fake;
}
FakeCupti& fresh_fake() {
  return open_fake(HEADROOM_FAKE_CUPTI);
}

std::unique_ptr<DeviceWatcher> watch(const std::vector<WatchKind>& kinds, const CuptiBounds& bounds = {}) {
  return watch_with_cupti(kinds, {HEADROOM_FAKE_CUPTI}, bounds);
}

std::vector<DeviceEvent> finish(DeviceWatcher& watcher) {
  std::vector<DeviceEvent> events;
  watcher.finish([&](DeviceEvent event) { events.push_back(std::move(event)); });
  return events;
}

template <typename Event>
std::vector<Event> only(const std::vector<DeviceEvent>& events) {
  std::vector<Event> found;
  for (const DeviceEvent& event : events)
    if (const auto* one = std::get_if<Event>(&event)) found.push_back(*one);
  return found;
}
int64_t lost(const std::vector<DeviceEvent>& events) {
  int64_t sum = 0;
  for (const RecordsLost& one : only<RecordsLost>(events)) sum += one.count;
  return sum;
}

const TraceSource* source(const std::vector<TraceSource>& sources, const std::string& name) {
  const auto found =
      std::find_if(sources.begin(), sources.end(), [&](const TraceSource& one) { return one.name == name; });
  return found == sources.end() ? nullptr : &*found;
}

size_t position(const std::vector<std::string>& log, const std::string& line) {
  const auto found = std::find(log.begin(), log.end(), line);
  INFO(line);
  REQUIRE(found != log.end());
  return static_cast<size_t>(found - log.begin());
}
std::string enabled(CUpti_ActivityKind kind) {
  return "enable " + std::to_string(kind);
}

/// A kernel, asked for and run.
uint32_t run_kernel(FakeCupti& fake, const char* name, uint64_t begin) {
  const uint32_t number = fake.call(kRuntimeLaunch, kDriverLaunch, begin, begin + 10);
  fake.record(&any(test::kernel(name, begin + 20, begin + 30, number)));
  return number;
}

TEST_CASE("each kind enables what it needs and no more") {
  struct Case {
    WatchKind kind;
    std::vector<CUpti_ActivityKind> enables;
    bool launches, copies, memory_calls;
  };
  const std::vector<Case> cases{
      {WatchKind::kernels,
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION},
       true,
       false,
       false},
      {WatchKind::copies,
       {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION},
       false,
       true,
       false},
      {WatchKind::memory,
       {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_MEMORY2},
       false,
       false,
       true},
      {WatchKind::pools, {CUPTI_ACTIVITY_KIND_MEMORY_POOL}, false, false, false},
      {WatchKind::calls, {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION}, false, false, true}};
  for (const Case& one : cases) {
    FakeCupti& fake = fresh_fake();
    auto watcher = watch({one.kind, one.kind});
    INFO(static_cast<int>(one.kind));
    CHECK(fake.enabled_kinds() == one.enables);
    CHECK(fake.records_call(CUPTI_ACTIVITY_KIND_RUNTIME, kRuntimeLaunch) == one.launches);
    CHECK(fake.records_call(CUPTI_ACTIVITY_KIND_DRIVER, kDriverLaunch) == one.launches);
    CHECK(fake.records_call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020) ==
          one.copies);
    CHECK(fake.records_call(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuMemCreate) ==
          one.memory_calls);
    REQUIRE(watcher->sources().size() == 1);
    CHECK(watcher->sources()[0].captured);
    CHECK(watcher->sources()[0].detail == "CUPTI 13.0.1");
    watcher.reset();
    CHECK(fake.enabled_kinds().empty());
    CHECK(fake.enabled_calls() == 0);
    CHECK_FALSE(fake.subscribed());
  }
}

TEST_CASE("CUPTI is told where its memory is to be before it takes any") {
  FakeCupti& fake = fresh_fake();
  auto watcher = watch(kAll);
  const std::vector<std::string> log = fake.log();
  const size_t pinned = position(log, "attribute 8 = 1");
  CHECK(position(log, "subscribe Headroom") < pinned);
  CHECK(pinned < position(log, "callbacks"));
  CHECK(position(log, "attribute 5 = 1") < position(log, "callbacks"));
  for (CUpti_ActivityKind kind : fake.enabled_kinds())
    CHECK(position(log, "callbacks") < position(log, enabled(kind)));
  CHECK(fake.buffers_taken() == 0);
}

TEST_CASE("where CUPTI cannot have pinned memory that is reported") {
  FakeCupti& fake = fresh_fake();
  fake.fail("cuptiActivitySetAttribute", CUPTI_ERROR_NOT_SUPPORTED);
  auto watcher = watch({WatchKind::kernels});
  const auto sources = watcher->sources();
  const TraceSource* memory = source(sources, "CUPTI in host memory");
  REQUIRE(memory != nullptr);
  CHECK_FALSE(memory->captured);
  CHECK_THAT(memory->detail, Contains("CUPTI_ERROR_NOT_SUPPORTED"));
  CHECK(source(sources, "CUPTI kernels")->captured);
}

TEST_CASE("everything of a decode comes back as events, with its scopes") {
  FakeCupti& fake = fresh_fake();
  auto watcher = watch(kAll);
  watcher->enter(ScopeId{1});
  const uint32_t alloc = fake.call(kRuntimeMalloc, kDriverMalloc, 100, 110);
  fake.record(&any(test::memory(kTaken, 0x1000, 4096, 105, alloc)));
  watcher->enter(ScopeId{2});
  const uint32_t add = run_kernel(fake, "_Z3addPf", 200);
  const uint32_t copied = fake.call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
                                    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoHAsync_v2, 300, 310);
  fake.record(&any(test::copy(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, 4096, 320, 330, copied)));
  watcher->enter(kNoScope);
  const uint32_t outside = run_kernel(fake, "_Z4lastv", 400);
  fake.record(&any(test::pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED, 0xabc, 0, 450)));
  fake.record(&any(test::memory(kReleased, 0x1000, 4096, 500, 99)));
  // Not asked for: never recorded.
  fake.call(CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020, CUPTI_DRIVER_TRACE_CBID_cuEventQuery, 600, 610);

  const std::vector<DeviceEvent> events = finish(*watcher);
  CHECK(only<DeviceActivity>(events) ==
        std::vector<DeviceActivity>{{220, 230, add, 13, 0, ActivityKind::kernel, "add"},
                                    {320, 330, copied, 14, 4096, ActivityKind::copy, "device to host"},
                                    {420, 430, outside, 13, 0, ActivityKind::kernel, "last"}});
  CHECK(only<DriverMemoryChanged>(events) ==
        std::vector<DriverMemoryChanged>{{105, 0x1000, 4096, alloc, MemoryPlace::device, 0, 0},
                                         {500, 0x1000, -4096, 99, MemoryPlace::device, 0, 0}});
  // The runtime's call and the driver's inside it: both, with one number, and its scope once.
  CHECK(only<DriverCall>(events) ==
        std::vector<DriverCall>{{101, 109, alloc, "cuMemAlloc"}, {100, 110, alloc, "cudaMalloc"}});
  CHECK(only<ScopeOfCall>(events) ==
        std::vector<ScopeOfCall>{{alloc, ScopeId{1}}, {add, ScopeId{2}}, {copied, ScopeId{2}}});
  CHECK(only<DriverPoolChanged>(events) == std::vector<DriverPoolChanged>{{450, 0xabc, 0}});
  CHECK(lost(events) == 0);
  CHECK(events.size() == 11);
  for (const TraceSource& one : watcher->sources()) CHECK(one.captured);
  CHECK(watcher->sources().size() == kAll.size());
}

TEST_CASE("calls are left out where nobody asked for them, their scopes are not") {
  FakeCupti& fake = fresh_fake();
  auto watcher = watch({WatchKind::memory});
  watcher->enter(ScopeId{5});
  const uint32_t alloc = fake.call(kRuntimeMalloc, kDriverMalloc, 100, 110);
  fake.record(&any(test::memory(kTaken, 0x1000, 4096, 105, alloc)));
  run_kernel(fake, "_Z3addPf", 200);
  const std::vector<DeviceEvent> events = finish(*watcher);
  CHECK(only<DriverCall>(events).empty());
  CHECK(only<ScopeOfCall>(events) == std::vector<ScopeOfCall>{{alloc, ScopeId{5}}});
  CHECK(events.size() == 2);
}

TEST_CASE("at the end records are flushed before their kinds are disabled, and the subscriber goes last") {
  FakeCupti& fake = fresh_fake();
  auto watcher = watch(kAll);
  run_kernel(fake, "_Z3addPf", 200);
  CHECK(only<DeviceActivity>(finish(*watcher)).size() == 1);
  const std::vector<std::string> log = fake.log();
  const size_t flush = position(log, "flush 1");
  CHECK(flush < position(log, "disable 10"));
  CHECK(position(log, "disable 10") < position(log, "unsubscribe"));
  CHECK(log.back() == "unsubscribe");
  CHECK(fake.enabled_kinds().empty());
  CHECK(fake.enabled_calls() == 0);
  // Once is enough.
  CHECK(finish(*watcher).empty());
  watcher.reset();
  CHECK(fake.log().size() == log.size());
}

TEST_CASE("each thread has one scope at a time, and none in the end") {
  FakeCupti& fake = fresh_fake();
  auto watcher = watch({WatchKind::kernels});
  for (uint64_t scope = 1; scope <= 100; ++scope) {
    watcher->enter(ScopeId{scope});
    REQUIRE(fake.external_ids() == std::vector<uint64_t>{scope});
  }
  std::thread([&] {
    CHECK(fake.external_ids().empty());
    watcher->enter(kNoScope);
    watcher->enter(ScopeId{200});
    CHECK(fake.external_ids() == std::vector<uint64_t>{200});
    watcher->enter(kNoScope);
    CHECK(fake.external_ids().empty());
  }).join();
  CHECK(fake.external_ids() == std::vector<uint64_t>{100});
  finish(*watcher);
  CHECK(fake.external_ids().empty());
  watcher->enter(ScopeId{300});  // too late
  CHECK(fake.external_ids().empty());
  CHECK(watcher->sources().size() == 1);
}

TEST_CASE("a thread's scope does not outlive its watcher") {
  FakeCupti& fake = fresh_fake();
  auto watcher = watch({WatchKind::kernels});
  watcher->enter(ScopeId{1});
  std::thread([&] { watcher.reset(); }).join();  // cannot take it from this thread
  watcher = watch({WatchKind::kernels});
  watcher->enter(ScopeId{2});
  CHECK(fake.external_ids() == std::vector<uint64_t>{2});
  watcher.reset();
  CHECK(fake.external_ids().empty());
}

TEST_CASE("scopes that CUPTI does not take are counted, not thrown") {
  FakeCupti& fake = fresh_fake();
  auto watcher = watch({WatchKind::kernels});
  fake.fail("push", CUPTI_ERROR_NOT_SUPPORTED);
  for (uint64_t scope = 1; scope <= 3; ++scope) watcher->enter(ScopeId{scope});
  run_kernel(fake, "_Z3addPf", 200);
  CHECK(finish(*watcher).size() == 1);
  const auto sources = watcher->sources();
  const TraceSource* scopes = source(sources, "CUPTI scopes");
  REQUIRE(scopes != nullptr);
  CHECK_FALSE(scopes->captured);
  CHECK_THAT(scopes->detail, Contains("3 ") && Contains("CUPTI_ERROR_NOT_SUPPORTED"));
}

TEST_CASE("where no call comes with its scope that is reported") {
  FakeCupti& fake = fresh_fake();
  auto watcher = watch({WatchKind::kernels});
  watcher->enter(ScopeId{1});
  fake.record(&any(test::kernel("_Z3addPf", 20, 30, 1)));  // as if its call had not been recorded
  finish(*watcher);
  const auto sources = watcher->sources();
  REQUIRE(source(sources, "CUPTI scopes") != nullptr);
  CHECK_FALSE(source(sources, "CUPTI scopes")->captured);
  CHECK(source(sources, "CUPTI kernels")->captured);
}

TEST_CASE("buffers come back from many threads, in any order, all at once") {
  FakeCupti& fake = fresh_fake();
  CuptiBounds bounds;
  bounds.buffer_bytes = 4096;
  bounds.buffers = 4096;
  auto watcher = watch({WatchKind::kernels, WatchKind::calls}, bounds);
  constexpr int kThreads = 4, kKernels = 2000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      watcher->enter(ScopeId{static_cast<uint64_t>(t) + 1});
      for (int i = 0; i < kKernels; ++i) run_kernel(fake, i % 2 == 0 ? "_Z4evenv" : "_Z3oddv", 1000);
      watcher->enter(kNoScope);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<DeviceEvent> events = finish(*watcher);
  const auto activities = only<DeviceActivity>(events);
  CHECK(activities.size() == kThreads * kKernels);
  CHECK(std::count_if(activities.begin(), activities.end(), [](const DeviceActivity& one) {
          return one.name == "even";
        }) == kThreads * kKernels / 2);
  std::vector<uint64_t> of_scope(kThreads + 1);
  // A buffer's end may come between the driver's call and the runtime's: then the scope is reported twice.
  std::vector<ScopeOfCall> scopes = only<ScopeOfCall>(events);
  std::sort(scopes.begin(), scopes.end(),
            [](const ScopeOfCall& a, const ScopeOfCall& b) { return a.correlation < b.correlation; });
  scopes.erase(std::unique(scopes.begin(), scopes.end()), scopes.end());
  for (const ScopeOfCall& scope : scopes) ++of_scope[static_cast<size_t>(scope.scope)];
  CHECK(of_scope == std::vector<uint64_t>{0, kKernels, kKernels, kKernels, kKernels});
  CHECK(lost(events) == 0);
  CHECK(fake.buffers_not_clean() == 0);
}

TEST_CASE("a few buffers serve any length, cleaned in between") {
  FakeCupti& fake = fresh_fake();
  CuptiBounds bounds;
  bounds.buffer_bytes = 4096;
  bounds.buffers = 2;
  auto watcher = watch({WatchKind::kernels}, bounds);
  for (int i = 0; i < 500; ++i) {
    run_kernel(fake, "_Z3addPf", 1000);
    if (i % 10 == 9) fake.deliver();
  }
  const std::vector<DeviceEvent> events = finish(*watcher);
  CHECK(only<DeviceActivity>(events).size() == 500);
  CHECK(lost(events) == 0);
  CHECK(fake.buffers_taken() >= 50);
  CHECK(fake.buffers_refused() == 0);
  CHECK(fake.buffers_not_clean() == 0);
}

TEST_CASE("what finds no buffer is counted") {
  FakeCupti& fake = fresh_fake();
  CuptiBounds bounds;
  bounds.buffer_bytes = 4096;
  bounds.buffers = 3;
  auto watcher = watch({WatchKind::kernels}, bounds);
  for (int i = 0; i < 1000; ++i) fake.record(&any(test::kernel("_Z3addPf", 20, 30)));
  CHECK(fake.buffers_taken() == 3);
  const std::vector<DeviceEvent> events = finish(*watcher);
  const auto captured = static_cast<int64_t>(only<DeviceActivity>(events).size());
  CHECK(captured == 3 * static_cast<int64_t>(4096 / sizeof(CUpti_ActivityKernel10)));
  CHECK(captured + lost(events) == 1000);
}

TEST_CASE("beyond the bound of events the rest is counted") {
  FakeCupti& fake = fresh_fake();
  CuptiBounds bounds;
  bounds.events = 100;
  auto watcher = watch({WatchKind::kernels}, bounds);
  for (int i = 0; i < 250; ++i) {
    fake.record(&any(test::kernel("_Z3addPf", 20, 30)));
    if (i == 70) fake.deliver();
  }
  const std::vector<DeviceEvent> events = finish(*watcher);
  CHECK(only<DeviceActivity>(events).size() == 100);
  CHECK(lost(events) == 150);
}

TEST_CASE("records that CUPTI dropped and records that cannot be are counted together") {
  FakeCupti& fake = fresh_fake();
  auto watcher = watch({WatchKind::kernels});
  fake.count_dropped(40);
  run_kernel(fake, "_Z3addPf", 100);
  fake.record(&any(test::kernel("_Z3addPf", 30, 20)));
  fake.deliver();
  fake.count_dropped(2);  // with no buffer to come
  const std::vector<DeviceEvent> events = finish(*watcher);
  CHECK(only<DeviceActivity>(events).size() == 1);
  CHECK(lost(events) == 43);
}

TEST_CASE("what is no record ends its buffer and nothing else") {
  FakeCupti& fake = fresh_fake();
  auto watcher = watch({WatchKind::kernels});
  run_kernel(fake, "_Z3addPf", 100);
  fake.record_nonsense();
  fake.record(&any(test::kernel("_Z6unseenv", 20, 30)));
  fake.deliver();
  fake.record(&any(test::kernel("_Z3addPf", 20, 30)));
  const std::vector<DeviceEvent> events = finish(*watcher);
  CHECK(only<DeviceActivity>(events).size() == 2);
  CHECK(lost(events) == 1);
}

TEST_CASE("who holds CUPTI is named, and nothing is enabled") {
  FakeCupti& fake = fresh_fake();
  fake.hold("CUPTI for Nsight\nSystems");
  auto watcher = watch({WatchKind::kernels, WatchKind::memory});
  const auto sources = watcher->sources();
  REQUIRE(sources.size() == 2);
  for (const TraceSource& one : sources) {
    CHECK_FALSE(one.captured);
    CHECK(one.detail == "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: held by CUPTI for Nsight?Systems");
  }
  CHECK(sources[0].name == "CUPTI kernels");
  CHECK(sources[1].name == "CUPTI memory");
  CHECK(fake.log().size() == 1);
  watcher->enter(ScopeId{1});
  CHECK(fake.external_ids().empty());
  CHECK(finish(*watcher).empty());
  CHECK(fake.log().size() == 1);
}

TEST_CASE("one kind that fails leaves the others") {
  FakeCupti& fake = fresh_fake();
  fake.fail_kind(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  auto watcher = watch({WatchKind::kernels, WatchKind::copies, WatchKind::memory});
  const auto sources = watcher->sources();
  REQUIRE(sources.size() == 3);
  CHECK_FALSE(sources[0].captured);
  CHECK(sources[0].detail == "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES");
  CHECK(sources[1].captured);
  CHECK(sources[2].captured);
  fake.record(&any(test::fill(4096, 20, 30)));
  CHECK(only<DeviceActivity>(finish(*watcher)).size() == 1);
}

TEST_CASE("some calls that CUPTI does not know leave the others, and are counted") {
  FakeCupti& fake = fresh_fake();
  fake.fail_call(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuMemCreate, CUPTI_ERROR_NOT_SUPPORTED);
  auto watcher = watch({WatchKind::calls});
  REQUIRE(watcher->sources().size() == 1);
  CHECK(watcher->sources()[0].captured);
  CHECK_THAT(watcher->sources()[0].detail, Contains("without 1 calls: CUPTI_ERROR_NOT_SUPPORTED"));
  watcher.reset();
  fake.fail("cuptiActivityEnableApi", CUPTI_ERROR_NOT_SUPPORTED);
  watcher = watch({WatchKind::calls, WatchKind::kernels});
  const auto sources = watcher->sources();
  CHECK_FALSE(source(sources, "CUPTI calls")->captured);
  CHECK(source(sources, "CUPTI kernels")->captured);
  REQUIRE(source(sources, "CUPTI scopes") != nullptr);
  CHECK_FALSE(source(sources, "CUPTI scopes")->captured);
}

TEST_CASE("failures on the way are reported, and leave nothing behind") {
  FakeCupti& fake = fresh_fake();
  fake.fail("cuptiActivityRegisterCallbacks", CUPTI_ERROR_NOT_SUPPORTED);
  auto watcher = watch({WatchKind::kernels});
  CHECK(watcher->sources()[0].detail == "cuptiActivityRegisterCallbacks: CUPTI_ERROR_NOT_SUPPORTED");
  CHECK_FALSE(fake.subscribed());
  CHECK(fake.enabled_kinds().empty());

  FakeCupti& other = fresh_fake();
  other.fail("cuptiSubscribe", CUPTI_ERROR_UNKNOWN);
  watcher = watch({WatchKind::kernels});
  CHECK(watcher->sources()[0].detail == "cuptiSubscribe: CUPTI error " + std::to_string(CUPTI_ERROR_UNKNOWN));

  FakeCupti& third = fresh_fake();
  watcher = watch({WatchKind::kernels});
  CHECK(watcher->sources()[0].captured);
  third.fail("cuptiActivityFlushAll", CUPTI_ERROR_NOT_SUPPORTED);
  finish(*watcher);
  const auto sources = watcher->sources();
  REQUIRE(source(sources, "CUPTI records") != nullptr);
  CHECK(source(sources, "CUPTI records")->detail == "cuptiActivityFlushAll: CUPTI_ERROR_NOT_SUPPORTED");
  CHECK_FALSE(third.subscribed());
}

TEST_CASE("one watcher listens at a time") {
  FakeCupti& fake = fresh_fake();
  auto first = watch({WatchKind::kernels});
  auto second = watch({WatchKind::kernels});
  CHECK_FALSE(second->sources()[0].captured);
  CHECK_THAT(second->sources()[0].detail, Contains("another watcher"));
  second.reset();
  CHECK(fake.subscribed());
  run_kernel(fake, "_Z3addPf", 100);
  CHECK(only<DeviceActivity>(finish(*first)).size() == 1);
  // The first is done, if not gone.
  second = watch({WatchKind::kernels});
  CHECK(second->sources()[0].captured);
  run_kernel(fake, "_Z3addPf", 200);
  CHECK(only<DeviceActivity>(finish(*second)).size() == 1);
}

TEST_CASE("the end waits for buffers that are being read") {
  FakeCupti& fake = fresh_fake();
  auto watcher = watch({WatchKind::kernels});
  run_kernel(fake, "_Z3addPf", 100);
  fake.read_slowly();
  CHECK(only<DeviceActivity>(finish(*watcher)).size() == 1);
}

TEST_CASE("buffers that come late are none of the next recording's") {
  FakeCupti& fake = fresh_fake();
  auto watcher = watch({WatchKind::kernels});
  run_kernel(fake, "_Z5firstv", 100);
  fake.keep_back(true);
  CHECK(finish(*watcher).empty());
  watcher = watch({WatchKind::kernels});
  fake.keep_back(false);
  fake.deliver();
  run_kernel(fake, "_Z6secondv", 200);
  const auto captured = only<DeviceActivity>(finish(*watcher));
  REQUIRE(captured.size() == 1);
  CHECK(captured[0].name == "second");
  // And after the last: dropped.
  watcher = watch({WatchKind::kernels});
  run_kernel(fake, "_Z5firstv", 100);
  fake.keep_back(true);
  watcher.reset();
  fake.deliver();
}

TEST_CASE("a watcher that is let go without an end stops listening") {
  FakeCupti& fake = fresh_fake();
  {
    auto watcher = watch(kAll);
    watcher->enter(ScopeId{1});
    run_kernel(fake, "_Z3addPf", 100);
  }
  CHECK(fake.external_ids().empty());
  CHECK_FALSE(fake.subscribed());
  CHECK(fake.enabled_kinds().empty());
  CHECK(fake.enabled_calls() == 0);
  CHECK(position(fake.log(), "flush 1") < position(fake.log(), "unsubscribe"));
}

TEST_CASE("the receiver of events may have no more room") {
  FakeCupti& fake = fresh_fake();
  auto watcher = watch({WatchKind::kernels});
  for (int i = 0; i < 3; ++i) run_kernel(fake, "_Z3addPf", 100);
  int captured = 0;
  watcher->finish([&](DeviceEvent) {
    if (++captured == 2) throw std::bad_alloc();
  });
  CHECK(captured == 2);
}

TEST_CASE("the clock is CUPTI's, and goes on where that fails") {
  FakeCupti& fake = fresh_fake();
  constexpr int64_t kSecond = 1'000'000'000, kFar = int64_t{1} << 60;
  fake.set_now(kFar);
  auto watcher = watch({});
  CHECK(watcher->now_ns() == kFar);
  fake.set_now(kFar + 5);
  CHECK(watcher->now_ns() == kFar + 5);
  fake.fail("cuptiGetTimestamp", CUPTI_ERROR_NOT_SUPPORTED);
  const int64_t now = watcher->now_ns();
  CHECK(now >= kFar);
  CHECK(now < kFar + 100 * kSecond);
  watcher.reset();
  watcher = watch({});
  const int64_t steady = std::chrono::steady_clock::now().time_since_epoch().count();
  CHECK(std::abs(watcher->now_ns() - steady) < 100 * kSecond);
}

TEST_CASE("without the library, or with one that is none, the reason is one line") {
  const auto detail = [](const std::vector<std::filesystem::path>& libraries) {
    auto watcher = watch_with_cupti({WatchKind::pools}, libraries);
    const std::vector<TraceSource> sources = watcher->sources();
    REQUIRE(sources.size() == 1);
    CHECK(sources[0].name == "CUPTI pools");
    CHECK_FALSE(sources[0].captured);
    CHECK(sources[0].detail.find('\n') == std::string::npos);
    CHECK(watcher->now_ns() > 0);
    watcher->enter(ScopeId{1});
    CHECK(finish(*watcher).empty());
    return sources[0].detail;
  };
  CHECK_THAT(detail({"/nowhere/libcupti.so.99"}), Contains("/nowhere/libcupti.so.99"));
  CHECK_THAT(detail({HEADROOM_NO_CUPTI}), Contains(HEADROOM_NO_CUPTI) && Contains("has no cupti"));
  CHECK_THAT(detail({}), Contains("nowhere"));
  // The next in the list is tried.
  FakeCupti& fake = fresh_fake();
  auto watcher = watch_with_cupti({WatchKind::pools}, {"/nowhere/libcupti.so.99", HEADROOM_FAKE_CUPTI});
  CHECK(watcher->sources()[0].captured);
  CHECK(fake.subscribed());
}

}  // namespace
}  // namespace headroom::profiler
