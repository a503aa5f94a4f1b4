#include <algorithm>
#include <vector>

#include "decoder/cpu/cpu_steps.h"
#include "decoder/cpu/loops/loops.h"
#include "decoder/cpu/loops/norm.h"
#include "decoder/cpu/loops/storage.h"
#include "decoder/cpu/rows.h"

namespace headroom::cpu_steps {

/// Writes zeros outside the picture.
void norm(CpuSteps& steps, const StepCall& call) {
  const MapView &source = call.inputs[0], &target = call.target;
  const Op& op = *call.op;
  const OpWeights& weights = steps.weights_of(op);
  const GroupStatistics& statistics = steps.statistics.at(op.inputs[1]);
  const double epsilon = steps.graph.producer(op.inputs[1])->epsilon;
  const int64_t channels = source.channels;
  // One scale and shift for each item, or for each of the frames that are made here.
  const Interval& frames = target.region.t;
  const int64_t of_item = statistics.by_frame() ? frames.length() : 1;
  const auto number = [&](const Row& row) {
    return row.item * of_item + (statistics.by_frame() ? row.t - frames.begin : 0);
  };
  std::vector<float> scales(static_cast<size_t>(call.items * of_item * channels)), shifts(scales.size());
  for (int64_t i = 0; i < call.items * of_item; ++i) {
    const int64_t set = statistics.set_of({i / of_item, frames.begin + i % of_item, 0});
    statistics.affine(set, channels, {weights.scale, weights.bias, epsilon}, scales.data() + i * channels,
                      shifts.data() + i * channels);
  }
  for_rows_inside(target, call.result_extent, call.items, [&](const Row& row, const Region& part, float* to) {
    const float* scale = scales.data() + number(row) * channels;
    const float* shift = shifts.data() + number(row) * channels;
    // A source in 16 bits is widened into the target, in chunks that stay in the first-level cache.
    constexpr int64_t kChunk = 4096;
    const bool as_it_is = source.dtype == Dtype::fp32;
    const int64_t chunk = as_it_is ? part.x.length() : std::max<int64_t>(1, kChunk / channels);
    for (int64_t x = part.x.begin; x < part.x.end; x += chunk) {
      const int64_t pixels = std::min(chunk, part.x.end - x);
      if (!as_it_is) kernels::widen(source.dtype, source.place(row, x), to, pixels * channels);
      kernels::norm_activate(as_it_is ? source.at(row, x) : to, to, pixels, channels, scale, shift,
                             op.activation);
      to += pixels * channels;
    }
  });
}

void rms_norm(CpuSteps& steps, const StepCall& call) {
  const MapView &source = call.inputs[0], &target = call.target;
  const Region region = call.inside();
  const Op& op = *call.op;
  const OpWeights& weights = steps.weights_of(op);
  const int64_t channels = source.channels, values = region.x.length() * channels;
  for_rows(call.items, region, values, [&](const Row& row) {
    float* to = target.at(row, region.x.begin);
    const float* from = to;
    if (source.dtype == Dtype::fp32) {
      from = source.at(row, region.x.begin);
    } else {
      kernels::widen(source.dtype, source.place(row, region.x.begin), to, values);
    }
    const auto normalise = op.centred ? kernels::loops().layer_norm : kernels::loops().rms_norm;
    normalise(from, to, region.x.length(), channels, weights.scale, weights.bias,
              static_cast<float>(op.epsilon));
    kernels::activate(to, values, op.activation);
  });
}

}  // namespace headroom::cpu_steps
