#include "profiler/measure/collect.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "decoder/base/os/scratch_file.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/session/picture_shape.h"
#include "decoder/weights/random_weights.h"
#include "profiler/measure/decode_calls.h"
#include "profiler/measure/layer_recorder.h"
#include "profiler/measure/measure_latency.h"
#include "profiler/measure/profiled_device.h"

namespace headroom::profiler {
namespace {

constexpr double kAssumedFlops = 100e9;    // FLOP/s, until the first decode is measured
constexpr double kTableSeconds = 15;       // until the first table is measured
constexpr int64_t kTiledPositions = 1024;  // latent positions of the tiled decode

/// A decode that was measured layer by layer.
struct MeasuredDecode {
  ProfiledSize size;
  std::vector<LayerMeasurement> layers;  ///< in the order of the graph's operations
  std::vector<DecodeCalls> calls;        ///< only on the CPU
  int64_t outside_bytes = 0;
};

class Collecting {
 public:
  Collecting(const Model& model, const ProfileRequest& request, const ParameterSource& weights,
             const ProfileProgress& progress, gpu::Gpu* gpu, const Clock& clock)
      : model_(model), graph_(model.graph), request_(request), progress_(progress), clock_(clock) {
    const auto kind = kind_of(gpu);
    for (const auto& [width, height] : request.sizes) {
      const Request decoded{request.model, width,         height, request.frames,
                            request.batch, request.dtype, kind,   direction_of(graph_),
                            request.tf32};
      plans_.push_back(untiled_plan(model, decoded, device_record(kind).algorithms.back()));
    }
    if (gpu == nullptr && !request.coarse) plans_.push_back(tiled_plan());
    for (const Plan& plan : plans_) work_.push_back(flops_of(plan));
    for (size_t s = 0; s < request.sizes.size(); ++s) latents_.push_back(sizes_of(graph_, plans_[s]).latent);
    const Profiled profiled{model, plans_, weights, request.dtype};
    device_ = gpu == nullptr ? profiled_cpu(profiled) : profiled_gpu(profiled, latents_, *gpu, clock);
    profile_.device_kind = kind;
  }

  Profile run() {
    started_seconds_ = clock_();
    describe();
    time_engines();
    const double began = clock_(), waited = device_->waited_seconds();
    for (size_t s = 0; s < plans_.size(); ++s) measure(s);
    for (size_t s = 0; s < request_.sizes.size(); ++s) take(s);
    measure_tables();
    const double thread_seconds = std::max(1e-9, clock_() - began) * profile_.threads;
    profile_.precision.waited_share = std::min(1.0, (device_->waited_seconds() - waited) / thread_seconds);
    return std::move(profile_);
  }

 private:
  /// Tiled plan of the first size. Halves a large picture until its decode is short.
  Plan tiled_plan() const {
    Request small = plans_.front().request;
    const Axes<int32_t>& scale = picture_scale(graph_);
    int64_t rows = small.height_pixels / scale.y, columns = small.width_pixels / scale.x;
    while (rows * columns > kTiledPositions && rows > 1 && columns > 1) rows /= 2, columns /= 2;
    small.height_pixels = rows * scale.y;
    small.width_pixels = columns * scale.x;
    return tiled_for_calls(graph_,
                           untiled_plan(model_, small, device_record(small.device).algorithms.back()));
  }

  double flops_of(const Plan& plan) const {
    const Sizes sizes = sizes_of(graph_, plan);
    double flops = 0;
    for (const Op& op : graph_.ops()) {
      flops += flops_per_position(graph_, op, sizes.latent) *
               double(positions(extent_of(graph_.tensor(measured_tensor(op)), sizes.latent)) * sizes.items);
    }
    return flops * double(plan.request.batch) / double(sizes.items) * request_.repeats;
  }

  void describe() {
    profile_.model = request_.model;
    profile_.direction = direction_of(graph_);
    profile_.dtype = request_.dtype;
    profile_.tf32 = request_.tf32;
    profile_.weights_source = request_.weights_source;
    device_->describe(profile_);
    if (!request_.scratch_folder.empty()) {
      const FolderRates folder = measure_folder(request_.scratch_folder);
      profile_.scratch_folder = request_.scratch_folder;
      profile_.scratch_write_bytes_per_second = folder.write_bytes_per_second;
      profile_.scratch_read_bytes_per_second = folder.read_bytes_per_second;
    }
    const ConvolutionAlgorithm algorithm = device_record(profile_.device_kind).algorithms.back();
    for (const Op& op : graph_.ops())
      profile_.layers.push_back({op.name, name_of(op.kind), {}, latency_table_name(graph_, op, algorithm)});
  }

  /// The decodes of the plans, and the calls measured after them, run by the choices.
  void time_engines() {
    tell(seconds_left(0, 0), "engines");
    profile_.engines = device_->time_engines();
    for (Plan& plan : plans_) plan.engines = faster_engines(profile_.engines);
  }

  void tell(double seconds_left, const std::string& what) {
    const double spent = clock_() - started_seconds_;
    share_ = std::max(share_, spent / std::max(spent + seconds_left, 1e-9));
    progress_(share_, seconds_left, what);
  }

  /// Estimates the seconds left when `share` of decode `s` is done: the rest of it, later decodes and the
  /// tables.
  double seconds_left(size_t s, double share) const {
    double work = 0;
    for (size_t i = s; i < work_.size(); ++i) work += work_[i] * (i == s ? 1 - share : 1);
    return work / flops_per_second_ + kTableSeconds;
  }

  /// Decodes a size, or the small tiled decode.
  void measure(size_t s) {
    const Plan& plan = plans_[s];
    const Request& decoded = plan.request;
    const int64_t width = decoded.width_pixels, height = decoded.height_pixels;
    const Sizes extents = sizes_of(graph_, plan);
    const Array input = random_latent(input_shape(model_, extents.latent, decoded.batch), 0);
    const PictureShape shape = picture_shape(graph_, decoded);
    MeasuredDecode measured;
    ProfiledSize& size = measured.size = {
        width, height, decoded.frames, decoded.batch, 0, std::numeric_limits<double>::infinity(), {}, {}};
    const std::string label = std::to_string(width) + "x" + std::to_string(height);
    int run = 0;
    LayerRecorder recorder(graph_, extents, device_->timer(), [&](double share, const std::string& layer) {
      tell(seconds_left(s, (run + share) / request_.repeats), label + " " + layer);
    });
    DecodeCallRecorder calls(graph_, extents, &recorder);
    const bool on_cpu = device_record(profile_.device_kind).is_host;
    EventSink& events = on_cpu ? static_cast<EventSink&>(calls) : recorder;
    const double began = clock_();
    for (; run < request_.repeats; ++run) {
      const RunStats stats = device_->decode(s, input, shape, events);
      size.peak_bytes = std::max(size.peak_bytes, stats.peak_bytes);
      size.seconds = std::min(size.seconds, stats.seconds);
      measured.outside_bytes = std::max(measured.outside_bytes, stats.outside_bytes);
    }
    flops_per_second_ = std::max(1.0, work_[s] / std::max(1e-9, clock_() - began));
    for (size_t i = 0; i < graph_.ops().size(); ++i)
      measured.layers.push_back(recorder.layer(OpId{static_cast<int32_t>(i)}));
    measured.calls = calls.calls();
    const EventSink::StepDone& peak = recorder.peak();
    const Step& step = plan.passes[static_cast<size_t>(peak.pass)].steps[static_cast<size_t>(peak.step)];
    size.peak_layer = graph_.tensor(step.tensor).name;
    size.peak_live = live_at(peak, plan, graph_, extents);
    decodes_.push_back(std::move(measured));
  }

  /// Adds a measured decode to the profile.
  void take(size_t s) {
    const MeasuredDecode& measured = decodes_[s];
    profile_.outside_bytes = std::max(profile_.outside_bytes, measured.outside_bytes);
    profile_.sizes.push_back(measured.size);
    for (size_t i = 0; i < graph_.ops().size(); ++i) profile_.layers[i].sizes.push_back(measured.layers[i]);
  }

  void measure_tables() {
    const LatencyRequest asked{request_.coarse, clock_,
                               [&](double left, const std::string& table) { tell(left, table); }};
    const std::unique_ptr<Benchmark> benchmark = device_->benchmark(clock_, asked.target_error());
    MeasuredLatency found = measure_latency_tables(graph_, latents_, *benchmark, asked);
    profile_.latency_tables = std::move(found.tables);
    profile_.precision = found.precision;
    if (device_record(profile_.device_kind).is_host) meet_measured();
  }

  /// Calibrates the tables with the measured decodes. Tables time calls back to back, but plans predict
  /// decodes.
  void meet_measured() {
    std::vector<std::vector<DecodeCalls>> decodes;
    for (size_t s = request_.sizes.size(); s < plans_.size(); ++s) decodes.push_back(decodes_[s].calls);
    for (size_t s = 0; s < request_.sizes.size(); ++s) decodes.push_back(decodes_[s].calls);
    profile_.precision.decode_ratio = calibrate_with_decodes(profile_.latency_tables, decodes);
  }

  const Model& model_;
  const Graph& graph_;
  const ProfileRequest& request_;
  const ProfileProgress& progress_;
  const Clock clock_;
  std::vector<Plan> plans_;   ///< plans of the profiled sizes, then a tiled one
  std::vector<double> work_;  ///< FLOPs by plan, all repeats included
  std::vector<Extent> latents_;
  std::unique_ptr<ProfiledDevice> device_;
  Profile profile_;
  std::vector<MeasuredDecode> decodes_;  ///< by plan
  double started_seconds_ = 0, share_ = 0;
  double flops_per_second_ = kAssumedFlops;
};

}  // namespace

Profile collect_profile(const Model& model, const ProfileRequest& request, const ParameterSource& weights,
                        const ProfileProgress& progress, gpu::Gpu* gpu, const Clock& clock) {
  return Collecting(model, request, weights, progress, gpu, clock).run();
}

}  // namespace headroom::profiler
