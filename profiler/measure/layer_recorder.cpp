#include "profiler/measure/layer_recorder.h"

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "decoder/plan/sizes.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/storage.h"

#include <algorithm>

namespace headroom::profiler {

void LayerRecorder::step_done(const Plan& plan, const StepDone& done) {
  const double seconds = timer_.seconds(done);
  const Pass& pass = plan.passes[static_cast<size_t>(done.pass)];
  progress_(double(done.pass) / double(plan.passes.size()), pass.name);
  if (done.peak_bytes > peak_.peak_bytes) peak_ = done;
  const Step& step = pass.steps[static_cast<size_t>(done.step)];
  if (step.op != OpId{-1}) record(step, done, seconds);
  if (step.add != OpId{-1}) record_added(step.add, done);
  timer_.start();
}

LayerMeasurement LayerRecorder::measured_of(OpId id, const StepDone& done) const {
  const Op& op = graph_.op(id);
  LayerMeasurement measured;
  measured.activation_bytes = bytes_of(graph_.tensor(op.output), sizes_.latent, sizes_.items, sizes_.dtype);
  measured.live_bytes = done.peak_bytes;
  measured.flops =
      flops_per_position(graph_, op, sizes_.latent) *
      double(positions(extent_of(graph_.tensor(measured_tensor(op)), sizes_.latent)) * sizes_.items);
  return measured;
}

/// A convolution does this addition, so the addition has no time of its own.
void LayerRecorder::record_added(OpId add, const StepDone& done) {
  layers_[add] = measured_of(add, done);
}

void LayerRecorder::record(const Step& step, const StepDone& done, double seconds) {
  const Op& op = graph_.op(step.op);
  const Tensor& output = graph_.tensor(op.output);
  LayerMeasurement measured = measured_of(step.op, done);
  const bool in_place = op.kind == OpKind::add || step.target == StepTarget::in_place || output.statistics;
  const int64_t made = in_place ? 0 : tile_bytes(graph_, op.output, extent_of(output, sizes_.latent), sizes_);
  measured.workspace_bytes = std::max<int64_t>(0, done.peak_bytes - done.live_before_bytes - made);
  measured.seconds = seconds;
  const auto [entry, is_new] = layers_.try_emplace(step.op, measured);
  if (!is_new) {
    measured.seconds = std::min(measured.seconds, entry->second.seconds);
    entry->second = measured;
  }
}

std::vector<LiveTensor> live_at(const EventSink::StepDone& peak, const Plan& plan, const Graph& graph,
                                const Sizes& sizes) {
  const Pass& pass = plan.passes[static_cast<size_t>(peak.pass)];
  std::vector<LiveTensor> live{{"weights", device_weights_bytes(graph, plan, pass)},
                               {graph.encodes() ? "picture" : "latent", latent_bytes(graph, sizes)}};
  if (const int64_t bytes = device_state_bytes(graph, sizes); bytes > 0)
    live.push_back({"statistics", bytes});
  const auto add = [&](const std::string& name, TensorId id) {
    live.push_back({name, bytes_of(graph.tensor(id), sizes.latent, sizes.items, sizes.dtype)});
  };
  for (const KeptTensor& entry : plan.kept) {
    if (entry.first_pass > peak.pass || entry.last_pass < peak.pass) continue;
    const auto stored = std::find_if(pass.steps.begin(), pass.steps.end(), [&](const Step& step) {
      return acquires_blocks(step) && step.tensor == entry.tensor;
    });
    if (stored != pass.steps.end() && stored - pass.steps.begin() > peak.step) continue;
    add(graph.tensor(entry.tensor).name, entry.tensor);
  }
  constexpr int64_t kWhole = int64_t{1} << 40;
  const std::vector<StepBytes> bytes = step_bytes(graph, pass, Extent{kWhole, kWhole, kWhole}, sizes, {});
  live.push_back({"tiles of " + pass.name, bytes[static_cast<size_t>(peak.step)].total()});
  int64_t named = 0;
  for (const LiveTensor& tensor : live) named += tensor.bytes;
  live.push_back({"workspace", std::max<int64_t>(0, peak.peak_bytes - named)});
  std::sort(live.begin(), live.end(),
            [](const LiveTensor& a, const LiveTensor& b) { return a.bytes > b.bytes; });
  return live;
}

}  // namespace headroom::profiler
