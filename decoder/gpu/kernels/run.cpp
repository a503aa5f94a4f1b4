#include "decoder/gpu/kernels/kernels.h"

namespace headroom::gpu {
namespace {

struct Start {
  StreamHandle stream;

  void operator()(const Gather& call) const { gather(call, stream); }
  void operator()(const Copy& call) const { copy(call, stream); }
  void operator()(const Add& call) const { add(call, stream); }
  void operator()(const Normalise& call) const { normalise(call, stream); }
  void operator()(const RmsNorm& call) const { rms_normalise(call, stream); }
  void operator()(const Upsample& call) const { upsample(call, stream); }
  void operator()(const DepthToSpace& call) const { depth_to_space(call, stream); }
  void operator()(const Gate& call) const { gate(call, stream); }
  void operator()(const Interpolate& call) const { interpolate(call, stream); }
  void operator()(const UnfoldFrames& call) const { unfold_frames(call, stream); }
  void operator()(const Activate& call) const { activate(call, stream); }
  void operator()(const ClearOutside& call) const { clear_outside(call, stream); }
  void operator()(const AddMoments& call) const { add_moments(call, stream); }
  void operator()(const Affine& call) const { make_affine(call, stream); }
  void operator()(const AddKeyValueSums& call) const { add_key_value_sums(call, stream); }
  void operator()(const LinearAttention& call) const { attend_linearly(call, stream); }
  void operator()(const Convolve& call) const { convolve(call, stream); }
  void operator()(const Interleave& call) const { interleave(call, stream); }
  void operator()(const Attend& call) const { attend(call, stream); }
};

}  // namespace

void run(const Call& call, StreamHandle stream) {
  std::visit(Start{stream}, call);
}

}  // namespace headroom::gpu
