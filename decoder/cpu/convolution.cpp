#include "decoder/cpu/convolution.h"

#include <algorithm>
#include <cstring>

#include "decoder/cpu/cpu_steps.h"
#include "decoder/cpu/rows.h"

namespace headroom {

std::optional<int64_t> frame_of_tap(const KernelShape& shape, int64_t t, int64_t tap, int64_t end) {
  const int64_t frame = t - shape.frames_before() + tap;
  switch (shape.before_first) {
    case BeforeFirst::zeros:
      return frame < 0 || frame >= end ? std::nullopt : std::optional(frame);
    case BeforeFirst::first_frame:
      return std::clamp<int64_t>(frame, 0, end - 1);
    case BeforeFirst::zeros_instead_of_first_frame:
      return frame < 1 ? std::nullopt : std::optional(frame);
  }
  return std::nullopt;
}

void convolve(LimitedPool& pool, const ConvolutionCall& call) {
  if (call.kernel.shape.depthwise()) {
    convolve_channels(call);
  } else if (call.kernel.shape.groups > 1) {
    convolve_groups(call);
  } else if (call.kernel.algorithm == ConvolutionAlgorithm::winograd) {
    convolve_by_winograd(pool, call);
  } else {
    convolve_directly(call);
  }
}

namespace {

void copy_first_frame(const StepCall& call, Region part) {
  part.t = {0, 1};
  const size_t bytes = static_cast<size_t>(part.x.length() * call.target.channels) * sizeof(float);
  for_rows(call.items, part, part.x.length() * call.target.channels, [&](const Row& row) {
    std::memcpy(call.target.at(row, part.x.begin), call.inputs[0].at(row, part.x.begin), bytes);
  });
}

}  // namespace

void cpu_steps::conv(CpuSteps& steps, const StepCall& call) {
  Region part = call.inside();
  if (call.op->convolution.keeps_first_frame && part.t.begin == 0 && part.t.length() > 0) {
    copy_first_frame(call, part);
    part.t.begin = 1;
  }
  convolve(steps.pool, {call.inputs[0], steps.weights_of(*call.op).kernel, call.target, part, call.items,
                        ToldShare(steps.on_share)});
  activate_region(call.target, call.activation(), part, call.items);
}

}  // namespace headroom
