#pragma once

#include <cupti.h>

#include <cstring>

// Records as CUPTI would write them.
namespace headroom::test {}
namespace headroom::profiler::test {
using namespace headroom::test;

template <typename Record>
Record blank(CUpti_ActivityKind kind) {
  Record record;
  std::memset(static_cast<void*>(&record), 0, sizeof record);
  record.kind = kind;
  return record;
}

template <typename Record>
const CUpti_Activity& any(const Record& record) {
  return reinterpret_cast<const CUpti_Activity&>(record);
}

inline CUpti_ActivityKernel10 kernel(const char* name, uint64_t begin, uint64_t end, uint32_t correlation = 7,
                                     uint32_t stream = 13) {
  auto record = blank<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  record.name = name;
  record.start = begin;
  record.end = end;
  record.correlationId = correlation;
  record.streamId = stream;
  return record;
}

inline CUpti_ActivityMemcpy6 copy(CUpti_ActivityMemcpyKind kind, uint64_t bytes, uint64_t begin, uint64_t end,
                                  uint32_t correlation = 7) {
  auto record = blank<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY);
  record.copyKind = static_cast<uint8_t>(kind);
  record.bytes = bytes;
  record.start = begin;
  record.end = end;
  record.correlationId = correlation;
  record.streamId = 14;
  return record;
}

inline CUpti_ActivityMemset4 fill(uint64_t bytes, uint64_t begin, uint64_t end, uint32_t correlation = 7) {
  auto record = blank<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET);
  record.bytes = bytes;
  record.start = begin;
  record.end = end;
  record.correlationId = correlation;
  record.streamId = 15;
  return record;
}

inline CUpti_ActivityMemory4 memory(CUpti_ActivityMemoryOperationType operation, uint64_t address,
                                    uint64_t bytes, uint64_t at, uint32_t correlation = 7,
                                    CUpti_ActivityMemoryKind kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE) {
  auto record = blank<CUpti_ActivityMemory4>(CUPTI_ACTIVITY_KIND_MEMORY2);
  record.memoryOperationType = operation;
  record.memoryKind = kind;
  record.address = address;
  record.bytes = bytes;
  record.timestamp = at;
  record.correlationId = correlation;
  return record;
}

inline CUpti_ActivityMemoryPool3 pool(CUpti_ActivityMemoryPoolOperationType operation, uint64_t address,
                                      uint64_t size, uint64_t at) {
  auto record = blank<CUpti_ActivityMemoryPool3>(CUPTI_ACTIVITY_KIND_MEMORY_POOL);
  record.memoryPoolOperationType = operation;
  record.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  record.address = address;
  record.size = size;
  record.timestamp = at;
  return record;
}

inline CUpti_ActivityAPI call(CUpti_ActivityKind kind, CUpti_CallbackId id, uint64_t begin, uint64_t end,
                              uint32_t correlation = 7) {
  auto record = blank<CUpti_ActivityAPI>(kind);
  record.cbid = id;
  record.start = begin;
  record.end = end;
  record.correlationId = correlation;
  return record;
}

inline CUpti_ActivityExternalCorrelation external(
    uint64_t id, uint32_t correlation = 7,
    CUpti_ExternalCorrelationKind kind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) {
  auto record = blank<CUpti_ActivityExternalCorrelation>(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  record.externalKind = kind;
  record.externalId = id;
  record.correlationId = correlation;
  return record;
}

}  // namespace headroom::profiler::test
