#include "profiler/measure/collect.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "decoder/graph/geometry.h"
#include "decoder/lowering/build_plan.h"
#include "decoder/weights/random_weights.h"
#include "profiler/measure/folder_rates.h"
#include "profiler/measure/layer_recorder.h"
#include "profiler/measure/measure_latency.h"
#include "profiler/measure/profiled_device.h"

namespace headroom::profiler {
namespace {

constexpr double kSizesShare = 0.3;  // of the time, roughly

/// Fills in what the latency tables say of the layers of a size.
void predict(const Graph& graph, const Plan& plan, const Profile& profile, HeldOutSize& size) {
  const Sizes sizes = sizes_of(graph, plan);
  for (size_t i = 0; i < size.layers.size(); ++i) {
    const Op& op = graph.ops()[i];
    const Extent extent = latency_table_extent(graph, op, sizes.latent);
    const auto frames = double(extent_of(graph.tensor(measured_tensor(op)), sizes.latent).t);
    const CallsOfStep calls = calls_of(traits_of(op.kind).step, sizes.device, frames, double(sizes.items));
    const LatencyTable& latency_table = *profile.find_latency_table(profile.layers[i].latency_table);
    const double call =
        op.kind == OpKind::attention
            ? attention_seconds(latency_table, graph, op, sizes.latent, double(extent.y))
            : latency_table.seconds_at(double(extent.y) / frames * calls.layers, double(extent.x));
    size.layers[i].predicted_seconds = calls.calls * call;
    size.seconds += size.layers[i].seconds;
    size.predicted_seconds += size.layers[i].predicted_seconds;
  }
}

class Collecting {
 public:
  Collecting(const Model& model, const ProfileRequest& request, const ParameterSource& weights,
             const std::function<void(double, const std::string&)>& progress, gpu::Gpu* gpu,
             const Clock& clock)
      : model_(model), graph_(model.graph), request_(request), progress_(progress), clock_(clock) {
    const DeviceKind kind = gpu == nullptr ? DeviceKind::cpu : DeviceKind::cuda;
    for (const auto* list : {&request.sizes, &request.held_out}) {
      for (const auto& [width, height] : *list) {
        const Request decoded{request.model, width,         height, request.frames,
                              request.batch, request.dtype, kind};
        plans_.push_back(untiled_plan(model, decoded, algorithms_on(kind).back()));
      }
    }
    for (size_t s = 0; s < request.sizes.size(); ++s) latents_.push_back(sizes_of(graph_, plans_[s]).latent);
    const Profiled profiled{model, plans_, weights, request.dtype};
    device_ = gpu == nullptr ? profiled_cpu(profiled) : profiled_gpu(profiled, latents_, *gpu, clock);
    profile_.device_kind = kind;
  }

  Profile run() {
    describe();
    for (size_t s = 0; s < plans_.size(); ++s) measure(s);
    const auto benchmark = device_->benchmark(clock_);
    profile_.latency_tables =
        measure_latency_tables(graph_, latents_, *benchmark, request_.repeats, clock_,
                               [&](double share, const std::string& latency_table) {
                                 progress_(kSizesShare + (1 - kSizesShare) * share, latency_table);
                               });
    for (size_t i = 0; i < profile_.held_out.size(); ++i)
      predict(graph_, plans_[request_.sizes.size() + i], profile_, profile_.held_out[i]);
    return std::move(profile_);
  }

 private:
  void describe() {
    profile_.model = request_.model;
    profile_.dtype = request_.dtype;
    profile_.weights_source = request_.weights_source;
    device_->describe(profile_);
    if (!request_.scratch_folder.empty()) {
      const FolderRates folder = measure_folder(request_.scratch_folder);
      profile_.scratch_folder = request_.scratch_folder;
      profile_.scratch_write_bytes_per_second = folder.write_bytes_per_second;
      profile_.scratch_read_bytes_per_second = folder.read_bytes_per_second;
    }
    const ConvolutionAlgorithm algorithm = algorithms_on(profile_.device_kind).back();
    for (const Op& op : graph_.ops())
      profile_.layers.push_back({op.name, name_of(op.kind), {}, latency_table_name(graph_, op, algorithm)});
  }

  /// Decodes a size, profiled or held out.
  void measure(size_t s) {
    const Plan& plan = plans_[s];
    const Request& decoded = plan.request;
    const int64_t width = decoded.width_pixels, height = decoded.height_pixels;
    const Sizes extents = sizes_of(graph_, plan);
    const Array input = random_latent(latent_shape(model_, extents.latent, decoded.batch), 0);
    const PictureShape shape{decoded.batch, graph_.tensor(graph_.output()).channels, decoded.frames, height,
                             width};
    ProfiledSize size{
        width, height, decoded.frames, decoded.batch, 0, std::numeric_limits<double>::infinity(), {}, {}};
    const std::string label = std::to_string(width) + "x" + std::to_string(height);
    LayerRecorder recorder(graph_, extents, device_->timer(), [&](double share, const std::string& layer) {
      progress_(kSizesShare * (double(s) + share) / double(plans_.size()), label + " " + layer);
    });
    for (int run = 0; run < request_.repeats; ++run) {
      const RunStats stats = device_->decode(s, input, shape, recorder);
      size.peak_bytes = std::max(size.peak_bytes, stats.peak_bytes);
      size.seconds = std::min(size.seconds, stats.seconds);
      profile_.outside_bytes = std::max(profile_.outside_bytes, stats.outside_bytes);
    }
    const auto layer = [&](size_t i) { return recorder.layer(OpId{static_cast<int32_t>(i)}); };
    if (s >= request_.sizes.size()) {
      profile_.held_out.push_back({width, height, 0, 0, {}});
      for (size_t i = 0; i < graph_.ops().size(); ++i)
        profile_.held_out.back().layers.push_back({graph_.ops()[i].name, layer(i).seconds, 0});
      return;
    }
    const EventSink::StepDone& peak = recorder.peak();
    const Step& step = plan.passes[static_cast<size_t>(peak.pass)].steps[static_cast<size_t>(peak.step)];
    size.peak_layer = graph_.tensor(step.tensor).name;
    size.peak_live = live_at(peak, plan, graph_, extents);
    profile_.sizes.push_back(std::move(size));
    for (size_t i = 0; i < graph_.ops().size(); ++i) profile_.layers[i].sizes.push_back(layer(i));
  }

  const Model& model_;
  const Graph& graph_;
  const ProfileRequest& request_;
  const std::function<void(double, const std::string&)>& progress_;
  const Clock clock_;
  std::vector<Plan> plans_;  ///< of the sizes that are profiled, then of those held out
  std::vector<Extent> latents_;
  std::unique_ptr<ProfiledDevice> device_;
  Profile profile_;
};

}  // namespace

Profile collect_profile(const Model& model, const ProfileRequest& request, const ParameterSource& weights,
                        const std::function<void(double, const std::string&)>& progress, gpu::Gpu* gpu,
                        const Clock& clock) {
  return Collecting(model, request, weights, progress, gpu, clock).run();
}

}  // namespace headroom::profiler
