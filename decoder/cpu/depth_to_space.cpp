#include <algorithm>
#include <vector>

#include "decoder/cpu/cpu_steps.h"
#include "decoder/cpu/loops/storage.h"
#include "decoder/cpu/rows.h"
#include "decoder/operations/depth_to_space.h"

namespace headroom::cpu_steps {

void depth_to_space(CpuSteps&, const StepCall& call) {
  const MapView &source = call.inputs[0], &target = call.target;
  const Region& region = call.region;
  const Op& op = *call.op;
  const Axes<int32_t>& factor = op.factor;
  for_rows(call.items, region, region.x.length() * target.channels, [&](const Row& row) {
    std::vector<float> wide(static_cast<size_t>(source.channels));
    const DepthFrame frame = depth_frame(op, source.channels, target.channels, row.t);
    float* to = target.at(row, region.x.begin);
    for (int64_t x = region.x.begin; x < region.x.end; ++x, to += target.channels) {
      const void* at = source.place({row.item, frame.source, row.y / factor.y}, x / factor.x);
      if (source.dtype != Dtype::fp32) kernels::widen(source.dtype, at, wide.data(), source.channels);
      const float* from = source.dtype == Dtype::fp32 ? static_cast<const float*>(at) : wide.data();
      const int64_t pixel = row.y % factor.y * factor.x + x % factor.x;
      const int64_t begin = frame.begin + pixel * frame.pixel_step;
      if (frame.repeats == 1) {
        for (int64_t c = 0; c < target.channels; ++c) to[c] = from[c * frame.channel_step + begin];
      } else {
        for (int64_t c = 0; c < target.channels; ++c)
          to[c] = from[(c * frame.channel_step + begin) / frame.repeats];
      }
    }
  });
}

void space_to_depth(CpuSteps&, const StepCall& call) {
  const MapView &source = call.inputs[0], &target = call.target;
  const Op& op = *call.op;
  const Region region = call.inside();
  for_rows(call.items, region, region.x.length() * source.channels * op.stride.y * op.stride.x,
           [&](const Row& row) {
             const FoldedFrame folded = folded_frame(op, source.channels, target.channels, row.t);
             const float share = 1 / static_cast<float>(folded.group);
             std::vector<float> values(static_cast<size_t>(source.channels));
             float* to = target.at(row, region.x.begin);
             for (int64_t x = region.x.begin; x < region.x.end; ++x, to += target.channels) {
               std::fill_n(to, target.channels, 0.0f);
               for (const FoldedPixel& pixel : folded.pixels) {
                 const Row from{row.item, pixel.frame, row.y * op.stride.y + pixel.row};
                 kernels::widen(source.dtype, source.place(from, x * op.stride.x + pixel.column),
                                values.data(), source.channels);
                 for (int64_t c = 0; c < source.channels; ++c) {
                   to[(c * pixel.channel_step + pixel.begin) / folded.group] +=
                       values[static_cast<size_t>(c)];
                 }
               }
               for (int64_t c = 0; c < target.channels; ++c) to[c] *= share;
             }
           });
}

}  // namespace headroom::cpu_steps
