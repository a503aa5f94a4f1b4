#include "profiler/collect/collect.h"

#include <algorithm>
#include <limits>
#include <map>

#include "decoder/files/random_weights.h"
#include "decoder/plan/builder.h"
#include "decoder/runtime/decode.h"

namespace headroom {
namespace {

/// Drops the picture: only the way to it is measured.
class NoSink final : public PictureSink {
 public:
  using PictureSink::PictureSink;

 private:
  void put(int64_t, const Region&, const float*) override {}
  void complete() override {}
};

/// Keeps, per operation, its measurement, and the step at which most was live.
class LayerRecorder final : public EventSink {
 public:
  LayerRecorder(const Graph& graph, const Sizes& sizes, std::function<void(double, const std::string&)> progress)
      : graph_(graph), sizes_(sizes), progress_(std::move(progress)) {}

  void step_done(const Plan& plan, const StepDone& done) override {
    const Pass& pass = plan.passes[static_cast<size_t>(done.pass)];
    const Step& step = pass.steps[static_cast<size_t>(done.step)];
    progress_(double(done.pass) / double(plan.passes.size()), pass.name);
    if (done.peak_bytes > peak_.peak_bytes) peak_ = done;
    if (step.op == OpId{-1}) return;
    const Op& op = graph_.op(step.op);
    LayerMeasurement measured;
    measured.activation_bytes = bytes_of(graph_.tensor(op.output), sizes_.latent, sizes_.items, sizes_.dtype);
    measured.live_bytes = done.peak_bytes;
    const bool in_place = op.kind == OpKind::add || op.kind == OpKind::statistics;
    const int64_t made = in_place ? 0 : measured.activation_bytes;
    measured.workspace_bytes = std::max<int64_t>(0, done.peak_bytes - done.live_before_bytes - made);
    measured.seconds = done.seconds;
    const TensorId computed = op.kind == OpKind::statistics ? op.inputs[0] : op.output;
    measured.flops = flops_per_position(graph_, op, sizes_.latent) *
                     double(positions(extent_of(graph_.tensor(computed), sizes_.latent)) * sizes_.items);
    const auto [entry, is_new] = layers_.try_emplace(step.op, measured);
    if (!is_new) {
      measured.seconds = std::min(measured.seconds, entry->second.seconds);
      entry->second = measured;
    }
  }

  const LayerMeasurement& layer(OpId op) const { return layers_.at(op); }
  const StepDone& peak() const { return peak_; }

 private:
  const Graph& graph_;
  Sizes sizes_;
  std::function<void(double, const std::string&)> progress_;
  std::map<OpId, LayerMeasurement> layers_;
  StepDone peak_;
};

/// Everything that was live at the peak, largest first: weights, kept tensors, tiles; the rest is workspace.
std::vector<LiveTensor> live_at(const EventSink::StepDone& peak, const Plan& plan, const Graph& graph, const Sizes& sizes) {
  std::vector<LiveTensor> live{{"weights", plan.weights_bytes}};
  const Pass& pass = plan.passes[static_cast<size_t>(peak.pass)];
  const auto add = [&](const std::string& name, TensorId id) {
    live.push_back({name, bytes_of(graph.tensor(id), sizes.latent, sizes.items, sizes.dtype)});
  };
  for (const Kept& entry : plan.kept) {
    if (entry.first_pass > peak.pass || entry.last_pass < peak.pass) continue;
    const auto stored = std::find_if(pass.steps.begin(), pass.steps.end(), [&](const Step& step) {
      return step.kind == StepKind::store && step.tensor == entry.tensor;
    });
    if (stored != pass.steps.end() && stored - pass.steps.begin() > peak.step) continue;
    add(graph.tensor(entry.tensor).name, entry.tensor);
  }
  const std::vector<int64_t> bytes = step_bytes(graph, pass, {int64_t{1} << 40, int64_t{1} << 40, int64_t{1} << 40}, sizes, {});
  live.push_back({"tiles of " + pass.name, bytes[static_cast<size_t>(peak.step)]});
  int64_t named = 0;
  for (const LiveTensor& tensor : live) named += tensor.bytes;
  live.push_back({"workspace", std::max<int64_t>(0, peak.peak_bytes - named)});
  std::sort(live.begin(), live.end(), [](const LiveTensor& a, const LiveTensor& b) { return a.bytes > b.bytes; });
  return live;
}

}  // namespace

Profile collect_profile(const Model& model, const std::string& model_argument, const ParameterSource& weights,
                        const std::vector<std::pair<int64_t, int64_t>>& sizes, int64_t batch, int repeats,
                        const std::function<void(double, const std::string&)>& progress) {
  const Graph& graph = model.graph;
  Profile profile;
  profile.model = model_argument;
  profile.device = device_name();
  profile.libraries = library_versions();
  profile.weights_bytes = weights_bytes(graph, Dtype::fp32);
  for (const Op& op : graph.ops()) profile.layers.push_back({op.name, name_of(op.kind), {}});

  for (size_t s = 0; s < sizes.size(); ++s) {
    const auto [width, height] = sizes[s];
    const Request request{model_argument, width, height, 1, batch, Dtype::fp32};
    const Extent latent = latent_extent(model, width, height, 1);
    const Plan plan = untiled_plan(model, request);
    const Sizes extents = sizes_of(graph, plan);
    const Array input = random_latent({batch, model.latent_channels, latent.y, latent.x}, 0);
    const PictureShape shape{batch, graph.tensor(graph.output()).channels, 1, height, width};
    ProfiledSize size{width, height, 1, batch, 0, std::numeric_limits<double>::infinity(), {}, {}};
    const std::string label = std::to_string(width) + "x" + std::to_string(height);
    LayerRecorder recorder(graph, extents, [&](double share, const std::string& layer) {
      progress((double(s) + share) / double(sizes.size()), label + " " + layer);
    });
    for (int run = 0; run < repeats; ++run) {
      NoSink sink(shape);
      const RunStats stats = decode(model, plan, weights, input, sink, &recorder);
      size.peak_bytes = std::max(size.peak_bytes, stats.peak_bytes);
      size.seconds = std::min(size.seconds, stats.seconds);
      profile.outside_bytes = std::max(profile.outside_bytes, stats.outside_bytes);
    }
    const EventSink::StepDone& peak = recorder.peak();
    const Step& step = plan.passes[static_cast<size_t>(peak.pass)].steps[static_cast<size_t>(peak.step)];
    size.peak_layer = graph.tensor(step.tensor).name;
    size.peak_live = live_at(peak, plan, graph, extents);
    profile.sizes.push_back(std::move(size));
    for (size_t i = 0; i < graph.ops().size(); ++i) {
      profile.layers[i].sizes.push_back(recorder.layer(OpId{static_cast<int32_t>(i)}));
    }
  }
  return profile;
}

}  // namespace headroom
