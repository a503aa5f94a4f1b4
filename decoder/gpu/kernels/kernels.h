#pragma once

#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/calls/stream.h"

// Starts calls on a stream; calls.h describes them. Throws DeviceError if a kernel cannot be started.
namespace headroom::gpu {

#define X(Type) start(const Type& call, StreamHandle stream)
void HEADROOM_GPU_CALLS(X);
#undef X

/// Starts a call of any type.
void run(const Call& call, StreamHandle stream);

}  // namespace headroom::gpu
