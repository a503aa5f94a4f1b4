#pragma once

#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/calls/stream.h"

// Starts calls on a stream. What they mean stands in calls.h. Throws DeviceError where a kernel cannot be
// started.
namespace headroom::gpu {

void gather(const Gather& call, StreamHandle stream);
void copy(const Copy& call, StreamHandle stream);
void add(const Add& call, StreamHandle stream);
void normalise(const Normalise& call, StreamHandle stream);
void rms_normalise(const RmsNorm& call, StreamHandle stream);
void upsample(const Upsample& call, StreamHandle stream);
void depth_to_space(const DepthToSpace& call, StreamHandle stream);
void gate(const Gate& call, StreamHandle stream);
void interpolate(const Interpolate& call, StreamHandle stream);
void unfold_frames(const UnfoldFrames& call, StreamHandle stream);
void activate(const Activate& call, StreamHandle stream);
void clear_outside(const ClearOutside& call, StreamHandle stream);
void add_moments(const AddMoments& call, StreamHandle stream);
void make_affine(const Affine& call, StreamHandle stream);
void add_key_value_sums(const AddKeyValueSums& call, StreamHandle stream);
void attend_linearly(const LinearAttention& call, StreamHandle stream);
void convolve(const Convolve& call, StreamHandle stream);
void interleave(const Interleave& call, StreamHandle stream);
void attend(const Attend& call, StreamHandle stream);

/// Any of them.
void run(const Call& call, StreamHandle stream);

}  // namespace headroom::gpu
