#include "planner/cost_model.h"

#include <algorithm>
#include <cmath>

#include "planner/memory_costs.h"

namespace headroom {
namespace {

// Assumptions for a machine that was not profiled: two cores with AVX-512, LibTorch 2.11, fp32.
constexpr double kConvolutionFlopsPerSecond = 170e9;
constexpr double kAttentionFlopsPerSecond = 200e9;
constexpr double kBytesPerSecond = 3e9;       // elementwise work, counted by the bytes that it writes
constexpr double kStepSeconds = 30e-6;        // waking threads, calling libraries
constexpr double kReorderBytesPerSecond = 4e9;  // oneDNN copies a convolution's weights at every call
constexpr double kWeightsBytesPerSecond = 1e9;
constexpr double kHostBytesPerSecond = 12e9;     // a link of sixteen lanes, pinned memory
constexpr double kScratchBytesPerSecond = 500e6;  // a solid-state disk

bool counts_flops(const Op& op) { return op.kind == OpKind::conv || op.kind == OpKind::attention; }

double work_per_position(const Graph& graph, const Op& op, const Sizes& sizes) {
  if (counts_flops(op)) return flops_per_position(graph, op, sizes.latent);
  const int64_t channels = graph.tensor(op.kind == OpKind::statistics ? op.inputs[0] : op.output).channels;
  return double(channels * bytes_per_element(sizes.dtype));
}

/// Positions that a step computes over all tiles of one batch item, halos included.
double step_positions(const Graph& graph, const Pass& pass, const Step& step, const Extent& tile, const Sizes& sizes) {
  const bool measures = step.kind == StepKind::statistics;
  const Tensor& tensor = graph.tensor(measures ? step.inputs[0].tensor : step.tensor);
  const auto along = per_axis(
      [](int64_t grid, int32_t scale, int32_t grid_scale, int32_t before, int32_t after, int64_t extent) {
        const double own = std::min(double(grid) * scale / grid_scale, double(extent));
        const double tiles = std::ceil(double(extent) / own);
        return double(extent) + (tiles - 1) * (before + after);
      },
      tile, tensor.scale, pass.scale, step.halo.before, step.halo.after, extent_of(tensor, sizes.latent));
  return along.t * along.y * along.x;
}

double tile_count(const Pass& pass, const Extent& tile, const Sizes& sizes) {
  const auto along = per_axis(
      [](int64_t length, int32_t scale, int64_t size) { return std::ceil(double(length * scale) / double(size)); },
      sizes.latent, pass.scale, tile);
  return along.t * along.y * along.x;
}

}  // namespace

CostModel::CostModel(const Graph& graph)
    : weights_bytes_per_second_(kWeightsBytesPerSecond),
      scratch_write_bytes_per_second_(kScratchBytesPerSecond),
      scratch_read_bytes_per_second_(kScratchBytesPerSecond),
      memory_(cpu_memory_model(graph)) {
  for (const Op& op : graph.ops()) {
    const double rate = op.kind == OpKind::conv        ? kConvolutionFlopsPerSecond
                        : op.kind == OpKind::attention ? kAttentionFlopsPerSecond
                                                       : kBytesPerSecond;
    seconds_per_work_.push_back(1 / rate);
  }
}

CostModel::CostModel(const Graph& graph, const Profile& profile, const Request& request) : CostModel(graph) {
  assumed_ = false;
  environment_ = {profile.device, profile.libraries};
  const auto take = [](double rate, double& assumed) {
    if (rate > 0) assumed = rate;
  };
  take(profile.weights_bytes_per_second, weights_bytes_per_second_);
  take(profile.scratch_write_bytes_per_second, scratch_write_bytes_per_second_);
  take(profile.scratch_read_bytes_per_second, scratch_read_bytes_per_second_);
  if (const auto laws = std::make_shared<const LawTable>(graph, profile); laws->complete()) {
    laws_ = laws;
    // The larger of what the libraries were seen to take elsewhere and here.
    memory_.workspace_bytes = [&graph, laws, elsewhere = memory_.workspace_bytes](const Op& op, const Extent& tile, int64_t items) {
      const Law& law = laws->of(graph.tensor(op.output).producer);
      const bool attends = op.kind == OpKind::attention;
      const int64_t here = attends ? law.workspace_at(positions(tile), law.columns.back())
                                   : law.workspace_at(tile.t * tile.y * items, tile.x);
      return std::max(here, elsewhere(op, tile, items));
    };
    return;
  }
  size_t nearest = 0;
  const auto distance = [&](size_t i) {
    const double pixels = double(profile.sizes[i].width_pixels) * double(profile.sizes[i].height_pixels);
    return std::abs(std::log(pixels / (double(request.width_pixels) * double(request.height_pixels))));
  };
  for (size_t i = 1; i < profile.sizes.size(); ++i) {
    if (distance(i) < distance(nearest)) nearest = i;
  }
  const ProfiledSize& size = profile.sizes[nearest];
  const Axes<int32_t> scale = graph.tensor(graph.output()).scale;
  const Sizes sizes{{1, size.height_pixels / scale.y, size.width_pixels / scale.x}, size.batch, profile.dtype};
  for (const LayerProfile& layer : profile.layers) {
    const OpId id = graph.find_op(layer.name);
    if (id == OpId{-1} || layer.sizes[nearest].seconds <= 0) continue;
    const Op& op = graph.op(id);
    const TensorId measured = op.kind == OpKind::statistics ? op.inputs[0] : op.output;
    const double whole = double(positions(extent_of(graph.tensor(measured), sizes.latent)) * sizes.items);
    seconds_per_work_[index(id)] = layer.sizes[nearest].seconds / (whole * work_per_position(graph, op, sizes));
  }
}

double CostModel::step_seconds(const Graph& graph, const Pass& pass, const Step& step, const Extent& tile,
                               const Sizes& sizes) const {
  if (laws_) return laws_->step_seconds(graph, pass, step, tile, sizes);
  const double computed = step_positions(graph, pass, step, tile, sizes) * double(sizes.items);
  const double fixed = kStepSeconds * tile_count(pass, tile, sizes);
  if (step.op == OpId{-1}) {
    const double bytes = computed * double(graph.tensor(step.tensor).channels * bytes_per_element(sizes.dtype));
    return fixed + bytes / kBytesPerSecond;
  }
  const Op& op = graph.op(step.op);
  double seconds = fixed + computed * work_per_position(graph, op, sizes) * seconds_per_work(step.op);
  if (op.kind == OpKind::conv) {
    seconds += tile_count(pass, tile, sizes) * double(convolution_workspace_bytes(graph, op)) / kReorderBytesPerSecond;
  }
  return seconds;
}

double CostModel::pass_seconds(const Graph& graph, const Pass& pass, const Extent& tile, const Sizes& sizes) const {
  double sum = 0;
  for (const Step& step : pass.steps) sum += step_seconds(graph, pass, step, tile, sizes);
  return sum;
}

double CostModel::least_seconds(const Graph& graph, OpId id, const Sizes& sizes) const {
  if (laws_) return laws_->least_seconds(graph, id, sizes);
  const Op& op = graph.op(id);
  const TensorId made = op.kind == OpKind::statistics ? op.inputs[0] : op.output;
  const double whole = double(positions(extent_of(graph.tensor(made), sizes.latent)) * sizes.items);
  const double reorder = op.kind == OpKind::conv ? double(convolution_workspace_bytes(graph, op)) / kReorderBytesPerSecond : 0;
  return kStepSeconds + reorder + whole * work_per_position(graph, op, sizes) * seconds_per_work(id);
}

double CostModel::least_store_seconds(const Graph& graph, TensorId id, const Sizes& sizes) const {
  const Tensor& tensor = graph.tensor(id);
  const double whole = double(positions(extent_of(tensor, sizes.latent)) * sizes.items);
  if (laws_) return whole * laws_->of({.kind = StepKind::store, .tensor = id}).least_seconds_per_position();
  return kStepSeconds + whole * double(tensor.channels * bytes_per_element(sizes.dtype)) / kBytesPerSecond;
}

double CostModel::weights_seconds(int64_t bytes) const { return double(bytes) / weights_bytes_per_second_; }

double CostModel::read_seconds(Place place, double bytes) const {
  return bytes / (place == Place::host ? kHostBytesPerSecond : scratch_read_bytes_per_second_);
}

double CostModel::write_seconds(Place place, double bytes) const {
  return bytes / (place == Place::host ? kHostBytesPerSecond : scratch_write_bytes_per_second_);
}

double pass_flops(const Graph& graph, const Pass& pass, const Extent& tile, const Sizes& sizes) {
  double sum = 0;
  for (const Step& step : pass.steps) {
    if (step.op == OpId{-1}) continue;
    sum += step_positions(graph, pass, step, tile, sizes) * double(sizes.items) *
           flops_per_position(graph, graph.op(step.op), sizes.latent);
  }
  return sum;
}

}  // namespace headroom
