#include "profiler/cupti/records.h"

#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "profiler/cupti/calls.h"
#include "tests/profiler/cupti/made_up_records.h"

namespace headroom::profiler::cupti {
namespace {

using test::any;

constexpr uint64_t kTooMany = uint64_t{1} << 63;

template <typename Record>
DeviceEvent event(const Record& record) {
  const std::optional<RecordedEvent> found = event_of(any(record));
  REQUIRE(found);
  return found->event;
}

template <typename Record>
bool is_lost(const Record& record) {
  return event(record) == DeviceEvent(RecordsLost{1});
}

TEST_CASE("a kernel's record") {
  const auto record = test::kernel("_Z3addPf", 100, 250, 42, 13);
  CHECK(event(record) == DeviceEvent(DeviceActivity{100, 250, 42, 13, 0, ActivityKind::kernel, ""}));
  CHECK(event_of(any(record))->kernel == std::string("_Z3addPf"));
  // One at a time, as older tools ask for them.
  auto serial = record;
  serial.kind = CUPTI_ACTIVITY_KIND_KERNEL;
  CHECK(event(serial) == event(record));
  CHECK(event_of(any(test::kernel(nullptr, 1, 1)))->kernel == std::string());
}

TEST_CASE("copies by their direction") {
  const auto named = [](CUpti_ActivityMemcpyKind kind) {
    return std::get<DeviceActivity>(event(test::copy(kind, 4096, 5, 6))).name;
  };
  CHECK(event(test::copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 4096, 5, 6, 9)) ==
        DeviceEvent(DeviceActivity{5, 6, 9, 14, 4096, ActivityKind::copy, "host to device"}));
  CHECK(named(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH) == "device to host");
  CHECK(named(CUPTI_ACTIVITY_MEMCPY_KIND_DTOD) == "device to device");
  CHECK(named(CUPTI_ACTIVITY_MEMCPY_KIND_HTOH) == "host to host");
  CHECK(named(CUPTI_ACTIVITY_MEMCPY_KIND_HTOA) == "host to device");
  CHECK(named(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP) == "device to other device");
  CHECK(named(CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN) == "copy");
  CHECK(named(static_cast<CUpti_ActivityMemcpyKind>(200)) == "copy");
}

TEST_CASE("a fill") {
  CHECK(event(test::fill(1 << 20, 5, 9, 3)) ==
        DeviceEvent(DeviceActivity{5, 9, 3, 15, 1 << 20, ActivityKind::fill, "fill"}));
}

TEST_CASE("memory that comes and goes") {
  const auto taken = test::memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, 0x7f00, 4096, 77, 5);
  CHECK(event(taken) == DeviceEvent(DriverMemoryChanged{77, 0x7f00, 4096, 5, MemoryPlace::device, 0, 0}));
  const auto released = test::memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, 0x7f00, 4096, 78, 6);
  CHECK(event(released) == DeviceEvent(DriverMemoryChanged{78, 0x7f00, -4096, 6, MemoryPlace::device, 0, 0}));
}

TEST_CASE("where memory is") {
  const auto place = [](CUpti_ActivityMemoryKind kind) {
    return std::get<DriverMemoryChanged>(
               event(test::memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, 1, 2, 3, 4, kind)))
        .place;
  };
  CHECK(place(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE) == MemoryPlace::device);
  CHECK(place(CUPTI_ACTIVITY_MEMORY_KIND_ARRAY) == MemoryPlace::device);
  CHECK(place(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC) == MemoryPlace::device);
  CHECK(place(CUPTI_ACTIVITY_MEMORY_KIND_PINNED) == MemoryPlace::pinned);
  CHECK(place(CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE) == MemoryPlace::pageable);
  CHECK(place(CUPTI_ACTIVITY_MEMORY_KIND_MANAGED) == MemoryPlace::managed);
  CHECK(place(CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC) == MemoryPlace::managed);
  CHECK(place(CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN) == MemoryPlace::unknown);
  CHECK(place(static_cast<CUpti_ActivityMemoryKind>(99)) == MemoryPlace::unknown);
}

TEST_CASE("memory of the driver's pools") {
  auto record = test::memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, 0x7f00, 4096, 77, 5);
  record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  record.memoryPoolConfig.address = 0xabc;
  record.memoryPoolConfig.pool.size = 32 << 20;
  CHECK(event(record) ==
        DeviceEvent(DriverMemoryChanged{77, 0x7f00, 4096, 5, MemoryPlace::device, 0xabc, 32 << 20}));
  // A pool imported from another process: its number stands in the place of the size.
  record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED;
  CHECK(std::get<DriverMemoryChanged>(event(record)).pool_size_bytes == 0);
  CHECK(std::get<DriverMemoryChanged>(event(record)).pool == 0xabc);
  record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID;
  CHECK(std::get<DriverMemoryChanged>(event(record)).pool == 0);
}

TEST_CASE("pools that come, are trimmed, and go") {
  CHECK(event(test::pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED, 0xabc, 0, 5)) ==
        DeviceEvent(DriverPoolChanged{5, 0xabc, 0}));
  CHECK(event(test::pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED, 0xabc, 4096, 6)) ==
        DeviceEvent(DriverPoolChanged{6, 0xabc, 4096}));
  CHECK(event(test::pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED, 0xabc, 4096, 7)) ==
        DeviceEvent(DriverPoolChanged{7, 0xabc, 0}));
  auto imported = test::pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED, 0xabc, 0, 5);
  imported.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED;
  CHECK_FALSE(event_of(any(imported)));
}

TEST_CASE("calls for memory by their names, and no others") {
  CHECK(event(test::call(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuMemCreate, 5, 9, 3)) ==
        DeviceEvent(DriverCall{5, 9, 3, "cuMemCreate"}));
  CHECK(event(test::call(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, 5, 9, 3)) ==
        DeviceEvent(DriverCall{5, 9, 3, "cuMemAlloc"}));
  CHECK(event(test::call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, 5, 9, 3)) ==
        DeviceEvent(DriverCall{5, 9, 3, "cudaMalloc"}));
  // In the other interface this number is another function.
  CHECK_FALSE(
      event_of(any(test::call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_DRIVER_TRACE_CBID_cuMemCreate, 5, 9, 3))));
  CHECK_FALSE(event_of(
      any(test::call(CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, 5, 9))));
  CHECK_FALSE(event_of(any(test::call(CUPTI_ACTIVITY_KIND_DRIVER, 0xffffffff, 5, 9))));
}

TEST_CASE("a call's scope") {
  CHECK(event(test::external(17, 42)) == DeviceEvent(ScopeOfCall{42, ScopeId{17}}));
  CHECK_FALSE(event_of(any(test::external(17, 42, CUPTI_EXTERNAL_CORRELATION_KIND_OPENACC))));
  CHECK_FALSE(event_of(any(test::external(0, 42))));
}

TEST_CASE("records of other kinds tell nothing") {
  for (int kind = 0; kind < 200; ++kind) {
    CUpti_ActivityKernel10 record = test::kernel("k", 1, 2);  // larger than most
    record.kind = static_cast<CUpti_ActivityKind>(kind);
    switch (record.kind) {
      case CUPTI_ACTIVITY_KIND_KERNEL:
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      case CUPTI_ACTIVITY_KIND_MEMCPY:
      case CUPTI_ACTIVITY_KIND_MEMSET:
      case CUPTI_ACTIVITY_KIND_MEMORY2:
      case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      case CUPTI_ACTIVITY_KIND_DRIVER:
      case CUPTI_ACTIVITY_KIND_RUNTIME:
      case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        break;
      default:
        CHECK_FALSE(event_of(any(record)));
    }
  }
}

TEST_CASE("what cannot be is lost, not believed") {
  CHECK(is_lost(test::kernel("k", 250, 100)));
  CHECK(is_lost(test::kernel("k", 0, 0)));  // CUPTI could not find out
  CHECK(is_lost(test::kernel("k", 0, 100)));
  CHECK(is_lost(test::kernel("k", 100, 0)));  // not done yet
  CHECK(is_lost(test::kernel("k", 1, kTooMany)));
  CHECK(is_lost(test::copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, kTooMany, 5, 6)));
  CHECK(is_lost(test::copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 1, 6, 5)));
  CHECK(is_lost(test::fill(kTooMany, 5, 6)));
  CHECK(is_lost(test::fill(1, 6, 5)));
  constexpr auto kTaken = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  CHECK(is_lost(test::memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_INVALID, 1, 2, 3)));
  CHECK(is_lost(test::memory(kTaken, 1, kTooMany, 3)));
  CHECK(is_lost(test::memory(kTaken, 1, 2, kTooMany)));
  CHECK(is_lost(test::memory(kTaken, 1, 2, 0)));
  auto pooled = test::memory(kTaken, 1, 2, 3);
  pooled.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  pooled.memoryPoolConfig.pool.size = kTooMany;
  CHECK(is_lost(pooled));
  CHECK(is_lost(test::pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_INVALID, 1, 2, 3)));
  CHECK(is_lost(test::pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED, 1, kTooMany, 3)));
  CHECK(is_lost(test::pool(CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED, 1, 2, 0)));
  CHECK(is_lost(test::call(CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_DRIVER_TRACE_CBID_cuMemCreate, 9, 5)));
}

TEST_CASE("no call is listed twice, and kernels, copies and memory have some of both libraries") {
  size_t counts[3][2] = {};
  for (const TracedCall& call : traced_calls()) {
    ++counts[static_cast<size_t>(call.use)][call.kind == CUPTI_ACTIVITY_KIND_DRIVER];
    int same = 0;
    for (const TracedCall& other : traced_calls()) same += other.kind == call.kind && other.id == call.id;
    INFO(call.name);
    CHECK(same == 1);
  }
  for (const auto& use : counts) {
    CHECK(use[0] >= 4);
    CHECK(use[1] >= 4);
  }
}

}  // namespace
}  // namespace headroom::profiler::cupti
