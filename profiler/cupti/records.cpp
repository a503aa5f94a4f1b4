#include "profiler/cupti/records.h"

#include <limits>

#include "profiler/cupti/calls.h"

namespace headroom::profiler::cupti {
namespace {

// CUPTI versions append fields to records. This code does not read appended fields, since the library's
// version may differ from the headers'.

RecordedEvent lost() {
  return {RecordsLost{1}, nullptr};
}

/// True if all of CUPTI's unsigned numbers fit int64_t.
template <typename... Numbers>
bool fit(Numbers... numbers) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return ((numbers <= kMost) && ...);
}

/// True if the times are valid. Both are zero if CUPTI could not determine them.
bool are_times(uint64_t begin, uint64_t end) {
  return begin > 0 && begin <= end && fit(end);
}

template <typename Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

MemoryPlace place_of(CUpti_ActivityMemoryKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return MemoryPlace::pageable;
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return MemoryPlace::pinned;
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return MemoryPlace::device;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return MemoryPlace::managed;
    default:
      return MemoryPlace::unknown;
  }
}

const char* copy_name(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return "host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return "device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
      return "device to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "host to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "device to other device";
    default:
      return "copy";
  }
}

/// Converts the record of a kernel, a copy or a fill: these fields have the same names in all three.
template <typename Record>
DeviceActivity activity(const Record& record, ActivityKind kind, uint64_t bytes, const char* name) {
  return {static_cast<int64_t>(record.start),
          static_cast<int64_t>(record.end),
          record.correlationId,
          static_cast<int32_t>(record.streamId),
          static_cast<int64_t>(bytes),
          kind,
          name};
}

RecordedEvent kernel(const CUpti_ActivityKernel10& record) {
  if (!are_times(record.start, record.end)) return lost();
  return {activity(record, ActivityKind::kernel, 0, ""), record.name == nullptr ? "" : record.name};
}

RecordedEvent copy(const CUpti_ActivityMemcpy6& record) {
  if (!are_times(record.start, record.end) || !fit(record.bytes)) return lost();
  return {activity(record, ActivityKind::copy, record.bytes, copy_name(record.copyKind)), nullptr};
}

RecordedEvent fill(const CUpti_ActivityMemset4& record) {
  if (!are_times(record.start, record.end) || !fit(record.bytes)) return lost();
  return {activity(record, ActivityKind::fill, record.bytes, "fill"), nullptr};
}

RecordedEvent memory(const CUpti_ActivityMemory4& record) {
  const auto operation = record.memoryOperationType;
  const bool taken = operation == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  if (!taken && operation != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE) return lost();
  if (!fit(record.bytes, record.timestamp) || record.timestamp == 0) return lost();
  DriverMemoryChanged changed;
  changed.at_ns = static_cast<int64_t>(record.timestamp);
  changed.address = record.address;
  changed.bytes = taken ? static_cast<int64_t>(record.bytes) : -static_cast<int64_t>(record.bytes);
  changed.correlation = record.correlationId;
  changed.place = place_of(record.memoryKind);
  const auto& pool = record.memoryPoolConfig;
  if (pool.memoryPoolType != CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID) changed.pool = pool.address;
  // For pools of other processes, `size` is a union with the process's number.
  if (pool.memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL) {
    if (!fit(pool.pool.size)) return lost();
    changed.pool_size_bytes = static_cast<int64_t>(pool.pool.size);
  }
  return {changed, nullptr};
}

std::optional<RecordedEvent> pool(const CUpti_ActivityMemoryPool3& record) {
  // An imported pool is another process's memory.
  if (record.memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED) return {};
  if (!fit(record.size, record.timestamp) || record.timestamp == 0) return lost();
  DriverPoolChanged changed{static_cast<int64_t>(record.timestamp), record.address, 0};
  switch (record.memoryPoolOperationType) {
    case CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED:
    case CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED:
      changed.size_bytes = static_cast<int64_t>(record.size);
      break;
    case CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED:
      break;
    default:
      return lost();
  }
  return RecordedEvent{changed, nullptr};
}

std::optional<RecordedEvent> call(const CUpti_ActivityAPI& record) {
  const char* name = memory_call_name(record.kind, record.cbid);
  if (name == nullptr) return {};  // recorded only for its scope
  if (!are_times(record.start, record.end)) return lost();
  return RecordedEvent{DriverCall{static_cast<int64_t>(record.start), static_cast<int64_t>(record.end),
                                  record.correlationId, name},
                       nullptr};
}

std::optional<RecordedEvent> scope(const CUpti_ActivityExternalCorrelation& record) {
  if (record.externalKind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 || record.externalId == 0) return {};
  return RecordedEvent{ScopeOfCall{record.correlationId, ScopeId{record.externalId}}, nullptr};
}

}  // namespace

std::optional<RecordedEvent> event_of(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return kernel(as<CUpti_ActivityKernel10>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return copy(as<CUpti_ActivityMemcpy6>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return fill(as<CUpti_ActivityMemset4>(record));
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return memory(as<CUpti_ActivityMemory4>(record));
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      return pool(as<CUpti_ActivityMemoryPool3>(record));
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return call(as<CUpti_ActivityAPI>(record));
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return scope(as<CUpti_ActivityExternalCorrelation>(record));
    default:
      return {};
  }
}

}  // namespace headroom::profiler::cupti
