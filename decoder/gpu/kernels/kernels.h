#pragma once

#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/calls/stream.h"

// Starts calls on a stream; calls.h describes them. Throws DeviceError if a kernel cannot be started.
namespace headroom::gpu {

void start(const Gather& call, StreamHandle stream);
void start(const Copy& call, StreamHandle stream);
void start(const Add& call, StreamHandle stream);
void start(const Normalise& call, StreamHandle stream);
void start(const RmsNorm& call, StreamHandle stream);
void start(const Upsample& call, StreamHandle stream);
void start(const DepthToSpace& call, StreamHandle stream);
void start(const Gate& call, StreamHandle stream);
void start(const Interpolate& call, StreamHandle stream);
void start(const UnfoldFrames& call, StreamHandle stream);
void start(const Activate& call, StreamHandle stream);
void start(const FillOutside& call, StreamHandle stream);
void start(const AddMoments& call, StreamHandle stream);
void start(const Affine& call, StreamHandle stream);
void start(const AddKeyValueSums& call, StreamHandle stream);
void start(const LinearAttention& call, StreamHandle stream);
void start(const Convolve& call, StreamHandle stream);
void start(const Interleave& call, StreamHandle stream);
void start(const Attend& call, StreamHandle stream);
void start(const Emit& call, StreamHandle stream);
void start(const CheckFinite& call, StreamHandle stream);
void start(const Checksum& call, StreamHandle stream);

/// Starts a call of any type.
void run(const Call& call, StreamHandle stream);

}  // namespace headroom::gpu
