#pragma once

#include <cupti.h>

#include <span>

namespace headroom::profiler::cupti {

/// What a call of CUDA's is for.
enum class CallUse { launch, copy, memory };

/// A function of the driver or of CUDA's runtime whose calls CUPTI is to record.
struct TracedCall {
  CUpti_ActivityKind kind;  ///< CUPTI_ACTIVITY_KIND_DRIVER or _RUNTIME
  CUpti_CallbackId id;
  const char* name;  ///< as in CUDA's headers
  CallUse use;
};

/// Those that a decode may come to: CUPTI reports the scope only of calls that it records. Others, like the
/// events that a decode asks about all the time, stay unrecorded. Those with a default stream for each thread
/// are not here: nothing that Headroom loads is compiled so.
std::span<const TracedCall> traced_calls();

/// The name of a function that takes memory or gives it back; null for any other.
const char* memory_call_name(CUpti_ActivityKind kind, CUpti_CallbackId id);

}  // namespace headroom::profiler::cupti
