#pragma once

#include <cupti.h>

#include <span>

namespace headroom::profiler::cupti {

/// Purpose of a CUDA call.
enum class CallUse { launch, copy, memory };

/// A driver or runtime function whose calls CUPTI should record.
struct TracedCall {
  CUpti_ActivityKind kind;  ///< CUPTI_ACTIVITY_KIND_DRIVER or _RUNTIME
  CUpti_CallbackId id;
  const char* name;  ///< as in CUDA's headers
  CallUse use;
};

/// Calls that a decode may make. They must be recorded, since CUPTI reports the scope only of recorded calls.
/// Frequent calls that need no scope, such as event queries, are left out. Variants for per-thread default
/// streams are left out too: nothing that Headroom loads is compiled that way.
std::span<const TracedCall> traced_calls();

/// Name of a function that allocates or frees memory; null for other functions.
const char* memory_call_name(CUpti_ActivityKind kind, CUpti_CallbackId id);

}  // namespace headroom::profiler::cupti
