#include "decoder/gpu/calls/plain_view.h"
#include "decoder/gpu/gpu_steps.h"

namespace headroom::gpu_steps {

void statistics(GpuSteps& steps, const StepCall& call) {
  const Op& op = *call.op;
  for (int64_t item = 0; item < call.items; ++item) {
    const gpu::View view = steps.view_of(call.inputs[0], item);
    for (int64_t t = call.region.t.begin; t < call.region.t.end; ++t) {
      Region frame = call.region;
      frame.t = {t, t + 1};
      steps.gpu.run(gpu::AddMoments{view, box_of(frame), op.groups, op.by_frame, steps.partial<Moments>(),
                                    steps.counters(),
                                    reinterpret_cast<Moments*>(steps.statistics_of(op.output, item))});
    }
  }
}

void norm(GpuSteps& steps, const StepCall& call) {
  const Op& op = *call.op;
  const Op& measured = *steps.graph.producer(op.inputs[1]);
  const MapView& source = call.inputs[0];
  const int64_t sets = gpu::statistics_sets(steps.graph, measured, steps.sizes);
  for (int64_t i = 0; i < call.items; ++i) {
    const auto* scale = reinterpret_cast<const float*>(steps.state_at(steps.layout.affines.at(op.output), i));
    steps.gpu.run(gpu::Normalise{steps.view_of(source, i), steps.view_of(call.target, i), scale,
                                 scale + sets * source.channels, measured.by_frame, op.activation,
                                 size_of(call.result_extent)});
  }
}

void rms_norm(GpuSteps& steps, const StepCall& call) {
  const Op& op = *call.op;
  const GpuOpWeights& weights = steps.weights_of(op);
  for (int64_t i = 0; i < call.items; ++i) {
    steps.gpu.run(gpu::RmsNorm{steps.view_of(call.inputs[0], i), steps.view_of(call.target, i), weights.scale,
                               weights.norm_bias, static_cast<float>(op.epsilon), op.activation,
                               box_of(call.inside()), op.centred});
  }
}

}  // namespace headroom::gpu_steps
