#include "planner/cost_model.h"

#include <algorithm>
#include <cmath>

#include "decoder/plan/lowering.h"
#include "planner/memory_costs.h"

namespace headroom {
namespace {

// Assumptions for a machine that was not profiled: two cores with AVX-512, LibTorch 2.11, fp32.
constexpr double kConvolutionFlopsPerSecond = 170e9;
constexpr double kAttentionFlopsPerSecond = 200e9;
constexpr double kNarrowFlopsPerSecond =
    20e9;  // convolutions of many groups, linear attention: few products a value
constexpr double kBytesPerSecond = 3e9;  // elementwise work, counted by the bytes that it writes
constexpr double kStepSeconds = 30e-6;   // waking threads, calling libraries
// Time of a convolution in the Winograd form as a share of the direct one's, transforms included; over
// upsampling the direct form saves more itself.
constexpr double kWinogradShare = 0.4, kUpsampledWinogradShare = 0.6;
constexpr double kTransformBytesPerSecond = 4e9;  // kernels brought into that form
constexpr double kWeightsBytesPerSecond = 1e9;
constexpr double kHostBytesPerSecond = 12e9;      // a link of sixteen lanes, pinned memory
constexpr double kScratchBytesPerSecond = 500e6;  // a solid-state disk

bool counts_flops(const Op& op) {
  return op.kind == OpKind::conv || op.kind == OpKind::attention || op.kind == OpKind::key_value_sums ||
         op.kind == OpKind::linear_attention;
}

double assumed_rate(const Op& op) {
  if (op.kind == OpKind::attention) return kAttentionFlopsPerSecond;
  if (op.kind == OpKind::conv && op.groups == 1) return kConvolutionFlopsPerSecond;
  return counts_flops(op) ? kNarrowFlopsPerSecond : kBytesPerSecond;
}

double form_share(const Graph& graph, const Op& op, ConvolutionForm form) {
  if (op.kind != OpKind::conv) return 1;
  const KernelShape kernel = kernel_shape(graph, op);
  if (form_of(kernel, form) == ConvolutionForm::direct) return 1;
  return kernel.upsamples ? kUpsampledWinogradShare : kWinogradShare;
}

double work_per_position(const Graph& graph, const Op& op, const Sizes& sizes) {
  if (counts_flops(op)) return flops_per_position(graph, op, sizes.latent);
  return double(graph.tensor(measured_tensor(op)).channels * tile_element_bytes(sizes));
}

/// Bytes that a step which only moves values writes for each position.
double moved_bytes(const Graph& graph, const Step& step, const Sizes& sizes) {
  const int64_t element =
      step.kind == StepKind::store ? bytes_per_element(sizes.dtype) : tile_element_bytes(sizes);
  return double(graph.tensor(step.tensor).channels * element);
}

/// Along one axis: positions that a step computes over all tiles, halos included, and tiles.
struct Along {
  double positions = 0;
  double tiles = 0;
};

/// One axis of a step's work: the pass's grid, the tensor that is measured, what tiles overlap by.
struct StepAxis {
  int64_t grid = 0;
  int32_t scale = 1, grid_scale = 1;
  int32_t halo = 0;
  int64_t extent = 0;
};

Along along(const StepAxis& axis, int64_t tile) {
  const auto count = [](int64_t whole, int64_t part) {
    return std::max<int64_t>(1, (whole + part - 1) / part);
  };
  const int64_t overlaps = count(axis.extent * axis.grid_scale, tile * axis.scale) - 1;
  return {double(axis.extent + overlaps * axis.halo), double(count(axis.grid, tile))};
}

Axes<StepAxis> axes_of(const Graph& graph, const Pass& pass, const Step& step, const Sizes& sizes) {
  const Tensor& tensor = graph.tensor(measured_tensor(step));
  return per_axis(
      [](int64_t latent, int32_t scale, int32_t grid_scale, int32_t before, int32_t after, int64_t extent) {
        return StepAxis{latent * grid_scale, scale, grid_scale, before + after, extent};
      },
      sizes.latent, tensor.scale, pass.scale, step.halo.before, step.halo.after,
      extent_of(tensor, sizes.latent));
}

/// The same along the time: no frame is computed twice.
Along along_time(const Graph& graph, const Pass& pass, const Step& step, int64_t chunk, const Sizes& sizes) {
  const int64_t grid = extent_at(pass.scale, sizes.latent).t;
  const int64_t frames = extent_of(graph.tensor(measured_tensor(step)), sizes.latent).t;
  return {double(frames), double(std::max<int64_t>(1, (grid + chunk - 1) / chunk))};
}

/// All three axes of a step's work under tiles of this extent.
Axes<Along> work_along(const Graph& graph, const Pass& pass, const Step& step, const Extent& tile,
                       const Sizes& sizes) {
  Axes<Along> work = per_axis([](const StepAxis& axis, int64_t length) { return along(axis, length); },
                              axes_of(graph, pass, step, sizes), tile);
  work.t = along_time(graph, pass, step, tile.t, sizes);
  return work;
}

/// Moving frames from one chunk to the next, for each row and column of a step's tile: out and in again, or
/// read from a kept tensor once more.
double carry_seconds(const Graph& graph, const Step& step, const Along& time, const Sizes& sizes) {
  if (!makes_tile(step.kind) || time.tiles <= 1) return 0;
  const int64_t carried = carried_frames(step);
  const double frames = double(carried > 0 ? 2 * carried : step.halo.before.t);
  return frames * (time.tiles - 1) *
         double(graph.tensor(step.tensor).channels * tile_element_bytes(sizes) * sizes.items) /
         kBytesPerSecond;
}

}  // namespace

CostModel::CostModel(const Graph& graph)
    : weights_bytes_per_second_(kWeightsBytesPerSecond),
      transform_bytes_per_second_(kTransformBytesPerSecond),
      scratch_write_bytes_per_second_(kScratchBytesPerSecond),
      scratch_read_bytes_per_second_(kScratchBytesPerSecond),
      memory_(cpu_memory_model(graph)) {
  for (const Op& op : graph.ops()) {
    seconds_per_work_.push_back(1 / assumed_rate(op));
  }
}

CostModel::CostModel(const Graph& graph, const Profile& profile, const Request& request) : CostModel(graph) {
  assumed_ = false;
  environment_ = {profile.device, profile.libraries};
  const auto take = [](double rate, double& assumed) {
    if (rate > 0) assumed = rate;
  };
  take(profile.weights_bytes_per_second, weights_bytes_per_second_);
  take(profile.transform_bytes_per_second, transform_bytes_per_second_);
  take(profile.scratch_write_bytes_per_second, scratch_write_bytes_per_second_);
  take(profile.scratch_read_bytes_per_second, scratch_read_bytes_per_second_);
  if (const auto laws = std::make_shared<const LawTable>(graph, profile); laws->complete()) {
    laws_ = laws;
    // The larger of what was seen elsewhere and here; convolutions take what the runtime is told to.
    memory_.workspace_bytes = [&graph, laws, elsewhere = memory_.workspace_bytes](
                                  const Op& op, ConvolutionForm form, const Extent& tile,
                                  const Sizes& sizes) {
      const int64_t known = elsewhere(op, form, tile, sizes);
      if (op.kind == OpKind::conv) return known;
      const Law& law = laws->of(graph.tensor(op.output).producer, form);
      const bool attends = op.kind == OpKind::attention;
      const int64_t here = attends ? law.workspace_at(tile.y * tile.x, law.columns.back())
                                   : law.workspace_at(tile.t * tile.y * sizes.items, tile.x);
      return std::max(here, known);
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
  const Sizes sizes{
      {(size.frames - 1) / scale.t + 1, size.height_pixels / scale.y, size.width_pixels / scale.x},
      size.batch,
      profile.dtype};
  for (const LayerProfile& layer : profile.layers) {
    const OpId id = graph.find_op(layer.name);
    if (id == OpId{-1} || layer.sizes[nearest].seconds <= 0) continue;
    const Op& op = graph.op(id);
    const double whole =
        double(positions(extent_of(graph.tensor(measured_tensor(op)), sizes.latent)) * sizes.items);
    seconds_per_work_[index(id)] =
        layer.sizes[nearest].seconds / (whole * work_per_position(graph, op, sizes));
  }
}

CostModel::StepRates CostModel::rates_of(const Graph& graph, const Step& step, ConvolutionForm form,
                                         const Sizes& sizes) const {
  if (step.op == OpId{-1})
    return {kStepSeconds, moved_bytes(graph, step, sizes) / kBytesPerSecond * double(sizes.items)};
  const Op& op = graph.op(step.op);
  return {kStepSeconds, work_per_position(graph, op, sizes) * form_share(graph, op, form) *
                            seconds_per_work(step.op) * double(sizes.items)};
}

double CostModel::step_seconds(const Graph& graph, const Pass& pass, const Step& step, const Extent& tile,
                               const Sizes& sizes) const {
  const double carry = carry_seconds(graph, step, along_time(graph, pass, step, tile.t, sizes), sizes);
  // Laws are asked for every shape of every pass, so what pictures do not need is left out.
  if (laws_ && carry == 0) return laws_->step_seconds(graph, pass, step, tile, sizes);
  const Axes<Along> work = work_along(graph, pass, step, tile, sizes);
  const double carrying = carry * work.y.positions * work.x.positions;
  if (laws_) return laws_->step_seconds(graph, pass, step, tile, sizes) + carrying;
  const StepRates rates = rates_of(graph, step, pass.convolutions, sizes);
  return rates.per_tile * work.t.tiles * work.y.tiles * work.x.tiles +
         rates.per_position * work.t.positions * work.y.positions * work.x.positions + carrying;
}

std::vector<double> CostModel::shape_seconds(const Graph& graph, const Pass& pass, int64_t length,
                                             const std::vector<int64_t>& heights,
                                             const std::vector<int64_t>& widths, const Sizes& sizes) const {
  std::vector<double> seconds(heights.size() * widths.size(), 0);
  std::vector<Along> columns(widths.size());
  for (const Step& step : pass.steps) {
    if (laws_) {
      for (size_t i = 0; i < seconds.size(); ++i) {
        seconds[i] += step_seconds(graph, pass, step,
                                   {length, heights[i / widths.size()], widths[i % widths.size()]}, sizes);
      }
      continue;
    }
    // The work of a tile is a product over the axes, so each length is looked at once.
    const StepRates rates = rates_of(graph, step, pass.convolutions, sizes);
    const Axes<StepAxis> axes = axes_of(graph, pass, step, sizes);
    const Along time = along_time(graph, pass, step, length, sizes);
    const double carrying = carry_seconds(graph, step, time, sizes);
    for (size_t k = 0; k < widths.size(); ++k) columns[k] = along(axes.x, widths[k]);
    for (size_t i = 0; i < heights.size(); ++i) {
      const Along rows = along(axes.y, heights[i]);
      const double per_tile = rates.per_tile * time.tiles * rows.tiles;
      const double per_position = (rates.per_position * time.positions + carrying) * rows.positions;
      for (size_t k = 0; k < widths.size(); ++k) {
        seconds[i * widths.size() + k] += per_tile * columns[k].tiles + per_position * columns[k].positions;
      }
    }
  }
  return seconds;
}

double CostModel::pass_seconds(const Graph& graph, const Pass& pass, const Extent& tile,
                               const Sizes& sizes) const {
  double sum = 0;
  for (const Step& step : pass.steps) sum += step_seconds(graph, pass, step, tile, sizes);
  return sum;
}

double CostModel::least_seconds(const Graph& graph, OpId id, const Sizes& sizes) const {
  if (laws_) return laws_->least_seconds(graph, id, sizes);
  const Op& op = graph.op(id);
  const double whole =
      double(positions(extent_of(graph.tensor(measured_tensor(op)), sizes.latent)) * sizes.items);
  const double share = form_share(graph, op, ConvolutionForm::winograd);  // the faster one
  return kStepSeconds + whole * work_per_position(graph, op, sizes) * share * seconds_per_work(id);
}

double CostModel::least_store_seconds(const Graph& graph, TensorId id, const Sizes& sizes) const {
  const Tensor& tensor = graph.tensor(id);
  const double whole = double(positions(extent_of(tensor, sizes.latent)) * sizes.items);
  if (laws_)
    return whole * laws_->of({.kind = StepKind::store, .tensor = id}, ConvolutionForm::direct)
                       .least_seconds_per_position();
  return kStepSeconds + whole * double(tensor.channels * bytes_per_element(sizes.dtype)) / kBytesPerSecond;
}

double CostModel::weights_seconds(int64_t bytes) const {
  return double(bytes) / weights_bytes_per_second_;
}

double CostModel::transform_seconds(int64_t bytes) const {
  return double(bytes) / transform_bytes_per_second_;
}

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
    const Axes<Along> work = work_along(graph, pass, step, tile, sizes);
    sum += work.t.positions * work.y.positions * work.x.positions * double(sizes.items) *
           flops_per_position(graph, graph.op(step.op), sizes.latent);
  }
  return sum;
}

}  // namespace headroom
