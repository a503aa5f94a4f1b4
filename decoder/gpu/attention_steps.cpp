#include "decoder/gpu/calls/plain_view.h"
#include "decoder/gpu/calls/workspace.h"
#include "decoder/gpu/gpu_steps.h"
#include "decoder/operations/attention.h"

namespace headroom::gpu_steps {
namespace {

int64_t positions_of(const MapView& map) {
  return map.region.y.length() * map.region.x.length();
}

void attend_block(GpuSteps& steps, const StepCall& call) {
  const KeyBlock& block = *call.block;
  const int64_t queries = positions_of(call.target), channels = call.target.channels;
  const gpu::AttentionStateLayout layout = gpu::attention_state_layout(queries, channels);
  const int64_t keys = most_attended_keys(steps.graph, *call.op, steps.sizes.latent);
  const int64_t bytes = steps.granted_bytes(gpu::attention_workspace_bytes(queries, keys, channels));
  if (block.first) steps.attending = {steps.workspace(layout.end), steps.workspace(bytes)};
  const auto list = [&](int64_t offset) {
    return reinterpret_cast<float*>(static_cast<std::byte*>(steps.attending.state.get()) + offset);
  };
  steps.gpu.run(gpu::Attend{.queries = steps.view_of(call.inputs[0], block.item),
                            .keys = steps.view_of(call.inputs[1], 0),
                            .values = steps.view_of(call.inputs[2], 0),
                            .target = steps.view_of(call.target, block.item),
                            .query_frame = static_cast<int32_t>(block.frame),
                            .target_frame = static_cast<int32_t>(block.frame),
                            .key_frames = span_of(block.frames),
                            .state = {list(layout.sums), list(layout.largest), list(layout.weights)},
                            .first = block.first,
                            .last = block.last,
                            .workspace = steps.attending.workspace.get(),
                            .workspace_bytes = bytes,
                            .tf32 = steps.sizes.tf32.products});
  if (block.last) steps.attending = {};
}

}  // namespace

void attention(GpuSteps& steps, const StepCall& call) {
  if (call.block) return attend_block(steps, call);
  const MapView &queries = call.inputs[0], &keys = call.inputs[1], &values = call.inputs[2];
  const AttentionFrames frames = call.op->frames;
  const int64_t frames_of_clip = keys.region.t.end;
  // The last frame has the most keys.
  const int64_t key_frames = attended_frames(frames, call.target.region.t.end - 1, frames_of_clip).length();
  const int64_t bytes = steps.granted_bytes(gpu::attention_workspace_bytes(
      positions_of(queries), key_frames * positions_of(keys), values.channels));
  const std::shared_ptr<void> taken = steps.workspace(bytes);
  for (int64_t i = 0; i < call.items; ++i) {
    for (int64_t t = call.target.region.t.begin; t < call.target.region.t.end; ++t) {
      const auto frame = static_cast<int32_t>(t);
      steps.gpu.run(gpu::Attend{.queries = steps.view_of(queries, i),
                                .keys = steps.view_of(keys, i),
                                .values = steps.view_of(values, i),
                                .target = steps.view_of(call.target, i),
                                .query_frame = frame,
                                .target_frame = frame,
                                .key_frames = span_of(attended_frames(frames, t, frames_of_clip)),
                                .interleaved = frames == AttentionFrames::interleaved,
                                .workspace = taken.get(),
                                .workspace_bytes = bytes,
                                .tf32 = steps.sizes.tf32.products});
    }
  }
}

void key_value_sums(GpuSteps& steps, const StepCall& call) {
  const int64_t channels = head_channels(steps.graph, *call.op);
  for (int64_t item = 0; item < call.items; ++item) {
    auto* sums = reinterpret_cast<double*>(steps.statistics_of(call.op->output, item));
    for (const MapView& input : call.inputs) {
      const int64_t heads = input.channels / (3 * channels);
      steps.gpu.run(gpu::AddKeyValueSums{steps.view_of(input, item), box_of(call.region),
                                         static_cast<int32_t>(heads), static_cast<int32_t>(channels),
                                         steps.partial<float>(), sums});
      sums += heads * channels * (channels + 1);
    }
  }
}

void linear_attention(GpuSteps& steps, const StepCall& call) {
  const int64_t channels = head_channels(steps.graph, *call.op);
  for (int64_t i = 0; i < call.items; ++i) {
    const auto* sums = reinterpret_cast<const double*>(steps.statistics_of(call.op->inputs.back(), i));
    int64_t first = 0;
    for (const MapView& input : call.inputs) {
      const int64_t heads = input.channels / (3 * channels);
      steps.gpu.run(gpu::LinearAttention{steps.view_of(input, i), steps.view_of(call.target, i),
                                         box_of(call.region), static_cast<int32_t>(heads),
                                         static_cast<int32_t>(channels), static_cast<int32_t>(first), sums,
                                         static_cast<float>(call.op->epsilon)});
      first += heads * channels;
      sums += heads * channels * (channels + 1);
    }
  }
}

}  // namespace headroom::gpu_steps
