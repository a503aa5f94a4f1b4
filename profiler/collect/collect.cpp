#include "profiler/collect/collect.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>

#include "decoder/files/random_weights.h"
#include "decoder/plan/builder.h"
#include "decoder/runtime/decode.h"
#include "decoder/runtime/pool.h"
#include "decoder/runtime/pool_allocator.h"
#include "profiler/collect/folder_rates.h"
#include "profiler/collect/measure_laws.h"

namespace headroom {
namespace {

/// Keeps, per operation, its measurement, and the step at which most was live.
class LayerRecorder final : public EventSink {
 public:
  LayerRecorder(const Graph& graph, const Sizes& sizes,
                std::function<void(double, const std::string&)> progress)
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
    const bool in_place = op.kind == OpKind::add || graph_.tensor(op.output).statistics;
    const int64_t tile = bytes_of(graph_.tensor(op.output), sizes_.latent, sizes_.items, Dtype::fp32);
    const int64_t made = in_place ? 0 : tile;
    measured.workspace_bytes = std::max<int64_t>(0, done.peak_bytes - done.live_before_bytes - made);
    measured.seconds = done.seconds;
    measured.flops =
        flops_per_position(graph_, op, sizes_.latent) *
        double(positions(extent_of(graph_.tensor(measured_tensor(op)), sizes_.latent)) * sizes_.items);
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
std::vector<LiveTensor> live_at(const EventSink::StepDone& peak, const Plan& plan, const Graph& graph,
                                const Sizes& sizes) {
  const Pass& pass = plan.passes[static_cast<size_t>(peak.pass)];
  std::vector<LiveTensor> live{{"weights", device_weights_bytes(graph, plan, pass)}};
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
  const std::vector<int64_t> bytes =
      step_bytes(graph, pass, {int64_t{1} << 40, int64_t{1} << 40, int64_t{1} << 40}, sizes, {});
  live.push_back({"tiles of " + pass.name, bytes[static_cast<size_t>(peak.step)]});
  int64_t named = 0;
  for (const LiveTensor& tensor : live) named += tensor.bytes;
  live.push_back({"workspace", std::max<int64_t>(0, peak.peak_bytes - named)});
  std::sort(live.begin(), live.end(),
            [](const LiveTensor& a, const LiveTensor& b) { return a.bytes > b.bytes; });
  return live;
}

struct LoadingRates {
  double direct_bytes_per_second = 0;     ///< from the source into the pool
  double transform_bytes_per_second = 0;  ///< from there into the Winograd form, bytes of that
};

LoadingRates loading_rates(const Graph& graph, const ParameterSource& source) {
  using Clock = std::chrono::steady_clock;
  const c10::InferenceMode inference;
  Pool pool(int64_t{1} << 40);
  const PoolScope scope(pool);
  const auto rate = [](int64_t bytes, Clock::time_point start) {
    return double(bytes) / std::max(1e-9, std::chrono::duration<double>(Clock::now() - start).count());
  };
  LoadingRates rates;
  auto start = Clock::now();
  const Weights direct(graph, all_operations(graph), ConvolutionForm::direct, source);
  rates.direct_bytes_per_second = rate(resident_weights_bytes(graph, {}), start);
  // Kernel by kernel, into the same pages from the second on, as passes do it.
  std::vector<double> seen;
  for (OpId op : all_operations(graph)) {
    if (!has_winograd_form(graph, op)) continue;
    start = Clock::now();
    const Weights winograd(graph, {op}, direct);
    seen.push_back(rate(kernel_shape(graph, graph.op(op)).floats(ConvolutionForm::winograd) * 4, start));
  }
  if (seen.empty()) return rates;
  std::sort(seen.begin(), seen.end());
  rates.transform_bytes_per_second = seen[seen.size() / 2];
  return rates;
}

/// Fills in what the laws say of the layers of a size.
void predict(const Graph& graph, const Extent& latent, int64_t items, const Profile& profile,
             HeldOutSize& size) {
  for (size_t i = 0; i < size.layers.size(); ++i) {
    const Extent extent = law_extent(graph, graph.ops()[i], latent);
    size.layers[i].predicted_seconds =
        profile.find_law(profile.layers[i].law)->seconds_at(double(extent.y * items), double(extent.x));
    size.seconds += size.layers[i].seconds;
    size.predicted_seconds += size.layers[i].predicted_seconds;
  }
}

}  // namespace

Profile collect_profile(const Model& model, const ProfileRequest& request, const ParameterSource& weights,
                        const std::function<void(double, const std::string&)>& progress) {
  const Graph& graph = model.graph;
  Profile profile;
  profile.model = request.model;
  profile.dtype = request.dtype;
  profile.device = device_name();
  profile.libraries = library_versions();
  profile.threads = threads_in_use();
  profile.weights_bytes = resident_weights_bytes(graph, {});
  profile.weights_source = request.weights_source;
  const LoadingRates rates = loading_rates(graph, weights);
  profile.weights_bytes_per_second = rates.direct_bytes_per_second;
  profile.transform_bytes_per_second = rates.transform_bytes_per_second;
  if (!request.scratch_folder.empty()) {
    const FolderRates folder = measure_folder(request.scratch_folder);
    profile.scratch_folder = request.scratch_folder;
    profile.scratch_write_bytes_per_second = folder.write_bytes_per_second;
    profile.scratch_read_bytes_per_second = folder.read_bytes_per_second;
  }
  for (const Op& op : graph.ops())
    profile.layers.push_back({op.name, name_of(op.kind), {}, law_name(graph, op, ConvolutionForm::winograd)});
  constexpr double kSizesShare = 0.3;  // of the time, roughly
  std::vector<std::pair<int64_t, int64_t>> sizes = request.sizes;
  sizes.insert(sizes.end(), request.held_out.begin(), request.held_out.end());
  std::vector<Extent> latents;
  for (size_t s = 0; s < sizes.size(); ++s) {
    const auto [width, height] = sizes[s];
    const bool held_out = s >= request.sizes.size();
    const Request decoded{request.model, width, height, request.frames, request.batch, request.dtype};
    const Extent latent = latent_extent(model, width, height, request.frames);
    const Plan plan = untiled_plan(model, decoded, ConvolutionForm::winograd);
    const Sizes extents = sizes_of(graph, plan);
    const Array input = random_latent(latent_shape(model, latent, request.batch), 0);
    const PictureShape shape{request.batch, graph.tensor(graph.output()).channels, request.frames, height,
                             width};
    ProfiledSize size{
        width, height, request.frames, request.batch, 0, std::numeric_limits<double>::infinity(), {}, {}};
    const std::string label = std::to_string(width) + "x" + std::to_string(height);
    LayerRecorder recorder(graph, extents, [&](double share, const std::string& layer) {
      progress(kSizesShare * (double(s) + share) / double(sizes.size()), label + " " + layer);
    });
    for (int run = 0; run < request.repeats; ++run) {
      DiscardingSink sink(shape);
      const RunStats stats = decode(model, plan, weights, input, sink, &recorder);
      size.peak_bytes = std::max(size.peak_bytes, stats.peak_bytes);
      size.seconds = std::min(size.seconds, stats.seconds);
      profile.outside_bytes = std::max(profile.outside_bytes, stats.outside_bytes);
    }
    if (held_out) {
      profile.held_out.push_back({width, height, 0, 0, {}});
      for (size_t i = 0; i < graph.ops().size(); ++i) {
        profile.held_out.back().layers.push_back(
            {graph.ops()[i].name, recorder.layer(OpId{static_cast<int32_t>(i)}).seconds, 0});
      }
      continue;
    }
    latents.push_back(latent);
    const EventSink::StepDone& peak = recorder.peak();
    const Step& step = plan.passes[static_cast<size_t>(peak.pass)].steps[static_cast<size_t>(peak.step)];
    size.peak_layer = graph.tensor(step.tensor).name;
    size.peak_live = live_at(peak, plan, graph, extents);
    profile.sizes.push_back(std::move(size));
    for (size_t i = 0; i < graph.ops().size(); ++i) {
      profile.layers[i].sizes.push_back(recorder.layer(OpId{static_cast<int32_t>(i)}));
    }
  }
  profile.laws = measure_laws(
      graph, latents, request.dtype, request.repeats,
      [&](double share, const std::string& law) { progress(kSizesShare + (1 - kSizesShare) * share, law); });
  for (HeldOutSize& size : profile.held_out)
    predict(graph, latent_extent(model, size.width_pixels, size.height_pixels, request.frames), request.batch,
            profile, size);
  return profile;
}

}  // namespace headroom
