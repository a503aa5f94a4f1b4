#pragma once

#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/calls/stream.h"

// Starts calls on a stream; calls.h describes them. Throws DeviceError if a kernel cannot be started.
namespace headroom::gpu {

#define X(Type) start(const Type& call, StreamHandle stream)
void HEADROOM_GPU_CALLS(X);
#undef X

/// True if our attention kernel for the current device loads keys and values once: they are one 16-bit tensor
/// of more than 256 channels, and shared memory holds a tile of all channels.
bool attends_to_one_tensor(const Attend& call);

/// Starts a call of any type.
void run(const Call& call, StreamHandle stream);

}  // namespace headroom::gpu
