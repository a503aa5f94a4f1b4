#include "planner/cost/cost_model.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/lowering.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/storage.h"
#include "decoder/schedule/tiles.h"
#include "planner/cost/device_costs.h"
#include "profiler/profile/time_error.h"

namespace headroom::planner {
namespace {

// Time of a convolution by the Winograd algorithm as a share of the direct one's, transforms included; over
// upsampling the direct algorithm saves more itself.
constexpr double kWinogradShare = 0.4, kUpsampledWinogradShare = 0.6;

double algorithm_share(const Graph& graph, const Op& op, ConvolutionAlgorithm algorithm) {
  if (op.kind != OpKind::conv) return 1;
  const KernelShape kernel = kernel_shape(graph, op);
  if (algorithm_of(kernel, algorithm) == ConvolutionAlgorithm::direct) return 1;
  return kernel.upsamples ? kUpsampledWinogradShare : kWinogradShare;
}

double work_per_position(const Graph& graph, const Op& op, const Sizes& sizes) {
  if (counts_flops(op)) return flops_per_position(graph, op, sizes.latent);
  return double(graph.tensor(measured_tensor(op)).channels * tile_element_bytes(sizes));
}

/// Bytes written for each position by a step that only moves values.
double moved_bytes(const Graph& graph, const Step& step, const Sizes& sizes) {
  const int64_t element =
      step.kind == OpKind::store ? bytes_per_element(sizes.dtype) : tile_element_bytes(sizes);
  return double(graph.tensor(step.tensor).channels * element);
}

/// Seconds for each position to read the residual, if a convolution also does the add.
double residual_seconds(const Graph& graph, OpId add, const DeviceRates& rates, const Sizes& sizes) {
  const int64_t channels = graph.tensor(graph.op(add).output).channels;
  return double(channels * tile_element_bytes(sizes)) / rates.bytes_per_second;
}

/// Number of tiles along an axis of the grid, not counting the first.
int64_t later_tiles(int64_t grid, int64_t length) {
  return ceil_divide(grid - std::min(grid, length), length);
}

int64_t later_bands(const Graph& graph, const Pass& pass, int64_t height, const Sizes& sizes) {
  const int64_t grid = own_rows(sizes, pass.scale.y).length();
  return ceil_divide(grid - first_band_rows(graph, pass, height, grid), height);
}

/// Work of a step along one axis, in positions. `single` is the work of one tile over the whole axis; the
/// others are added for each further tile.
struct AxisWork {
  int64_t single = 0;
  int64_t again = 0;  ///< computed once more: halos
  int64_t moved = 0;  ///< carried into the next tile by copies, or read again
};

Axes<AxisWork> work_axes(const Graph& graph, const Pass& pass, const Step& step, const Sizes& sizes) {
  Region grid = whole(extent_at(pass.scale, sizes.latent));
  grid.y = own_rows(sizes, pass.scale.y);
  return per_axis(
      [&](const TileAxis& axis, const Interval& of_grid) {
        // A rank's rows have halos at both ends, unless the picture ends there.
        const Interval own = axis.image_of(of_grid);
        const int64_t beyond =
            std::min<int64_t>(own.begin, axis.before) + std::min<int64_t>(axis.extent - own.end, axis.after);
        AxisWork work{own.length() + beyond};
        const int64_t read_again = axis.before - axis.carried;  // from a kept tensor
        if (!axis.carries) {
          work.again = axis.before + axis.after;
        } else if (makes_tile(step)) {
          work.again = axis.is_time ? 0 : read_again;
          work.moved = 2 * axis.carried + (axis.is_time ? read_again : 0);
        }
        return work;
      },
      tile_axes(graph, pass, step, measured_tensor(step), sizes.latent), grid);
}

/// Work of a step along one axis, over all tiles.
struct Along {
  double positions = 0, moved = 0, tiles = 0;
};

Along along(const AxisWork& work, int64_t later) {
  return {double(work.single + later * work.again), double(later * work.moved), double(1 + later)};
}

/// All three axes of a step's work under tiles of this extent.
Axes<Along> work_along(const Graph& graph, const Pass& pass, const Step& step, const Extent& tile,
                       const Sizes& sizes) {
  const Extent grid = extent_at(pass.scale, sizes.latent);
  const Extent later{later_tiles(grid.t, tile.t), later_bands(graph, pass, tile.y, sizes),
                     later_tiles(grid.x, tile.x)};
  return per_axis(along, work_axes(graph, pass, step, sizes), later);
}

/// Seconds to carry positions of a step from tile to tile along one axis, for each line of positions across
/// that axis.
double moving_seconds(const Graph& graph, const Step& step, const Along& along, const DeviceRates& rates,
                      const Sizes& sizes) {
  const int64_t element = tile_element_bytes(sizes);
  return along.moved * double(graph.tensor(step.tensor).channels * element * sizes.items) /
         rates.bytes_per_second;
}

}  // namespace

CostModel::CostModel(const Graph& graph, DeviceKind device)
    : graph_(&graph), device_(&device_record(device)), memory_(memory_model_of(graph, *device_)) {
  // The rates used below do not depend on the dtype.
  const DeviceRates rates = assumed_rates(*device_, Dtype::fp32);
  both_ways_ = rates.both_ways;
  weights_bytes_per_second_ = rates.weights_bytes_per_second;
  transform_bytes_per_second_ = rates.transform_bytes_per_second;
  to_host_bytes_per_second_ = from_host_bytes_per_second_ = rates.host_bytes_per_second;
  scratch_write_bytes_per_second_ = scratch_read_bytes_per_second_ = rates.scratch_bytes_per_second;
  if (device_->is_host) return;
  const GpuCard card = GpuCard::assumed(device);
  gpu_.emplace(graph, card);
  reservation_ = card.reservation;
}

CostModel::CostModel(const Graph& graph, const GpuCard& card) : CostModel(graph, DeviceKind::cuda) {
  gpu_.emplace(graph, card);
  reservation_ = card.reservation;
  weights_bytes_per_second_ = card.weights_bytes_per_second;
  to_host_bytes_per_second_ = from_host_bytes_per_second_ = card.host_bytes_per_second;
}

CostModel::CostModel(const Graph& graph, const profiler::Profile& profile, const Request& request)
    : CostModel(graph, request.device) {
  assumed_ = false;
  environment_ = {profile.device, profile.libraries};
  engines_ = faster_engines(profile.engines);
  common_error_ = profiler::common_error(profile);
  const auto take = [](double rate, double& assumed) {
    if (rate > 0) assumed = rate;
  };
  take(profile.weights_bytes_per_second, weights_bytes_per_second_);
  take(profile.transform_bytes_per_second, transform_bytes_per_second_);
  take(profile.to_host_bytes_per_second, to_host_bytes_per_second_);
  take(profile.from_host_bytes_per_second, from_host_bytes_per_second_);
  take(profile.scratch_write_bytes_per_second, scratch_write_bytes_per_second_);
  take(profile.scratch_read_bytes_per_second, scratch_read_bytes_per_second_);
  const auto latency_tables = std::make_shared<const LatencyLookup>(graph, profile);
  if (!latency_tables->missing().empty())
    throw std::logic_error("a profile without latency table " + latency_tables->missing());
  latency_tables_ = latency_tables;
  // The planner sets a GPU's workspaces, so measured ones do not matter.
  if (!device_record(request.device).is_host) {
    gpu_.emplace(graph, latency_tables, profile.dtype);
    return;
  }
  // Use the larger of the assumed and the measured workspace. For convolutions the algorithm determines it.
  memory_.workspace_bytes = [&graph, latency_tables, elsewhere = memory_.workspace_bytes](
                                const Op& op, ConvolutionAlgorithm algorithm, const Extent& tile,
                                const Sizes& sizes) {
    const int64_t known = elsewhere(op, algorithm, tile, sizes);
    if (op.kind == OpKind::conv) return known;
    const profiler::LatencyTable& latency_table =
        latency_tables->of(graph.tensor(op.output).producer, algorithm);
    const bool attends = op.kind == OpKind::attention;
    const int64_t here = attends ? latency_table.workspace_at(tile.y * tile.x, latency_table.columns.back())
                                 : latency_table.workspace_at(tile.t * tile.y * sizes.items, tile.x);
    return std::max(here, known);
  };
}

double CostModel::seconds_per_position(OpId id, ConvolutionAlgorithm algorithm, const Sizes& sizes) const {
  const Op& op = graph_->op(id);
  const double work = work_per_position(*graph_, op, sizes), share = algorithm_share(*graph_, op, algorithm);
  const DeviceRates rates = assumed_rates(*device_, sizes.dtype, sizes.tf32);
  return work * share * (1 / (counts_flops(op) ? flops_per_second(rates, op) : rates.bytes_per_second));
}

CostModel::StepRates CostModel::rates_of(const Step& step, ConvolutionAlgorithm algorithm,
                                         const Sizes& sizes) const {
  const DeviceRates rates = assumed_rates(*device_, sizes.dtype, sizes.tf32);
  if (step.op == OpId{-1}) {
    const double moving = moved_bytes(*graph_, step, sizes) / rates.bytes_per_second;
    return {rates.step_seconds, moving * double(sizes.items)};
  }
  double seconds = seconds_per_position(step.op, algorithm, sizes);
  if (step.add != OpId{-1}) seconds += residual_seconds(*graph_, step.add, rates, sizes);
  return {rates.step_seconds, seconds * double(sizes.items)};
}

double CostModel::step_seconds(const Pass& pass, const Step& step, const Extent& tile,
                               const Sizes& sizes) const {
  if (gpu_) {
    const auto found = std::find(pass.steps.begin(), pass.steps.end(), step) - pass.steps.begin();
    return gpu_->step_seconds(pass, tile, sizes).at(static_cast<size_t>(found));
  }
  const DeviceRates moving = assumed_rates(*device_, sizes.dtype, sizes.tf32);
  const Axes<Along> work = work_along(*graph_, pass, step, tile, sizes);
  const double carrying = (moving_seconds(*graph_, step, work.t, moving, sizes) * work.y.positions +
                           moving_seconds(*graph_, step, work.y, moving, sizes)) *
                          work.x.positions;
  if (latency_tables_) return latency_tables_->step_seconds(pass, step, tile, sizes) + carrying;
  const StepRates rates = rates_of(step, pass.convolutions.of(step.op), sizes);
  return rates.per_tile * work.t.tiles * work.y.tiles * work.x.tiles +
         rates.per_position * work.t.positions * work.y.positions * work.x.positions + carrying;
}

std::vector<double> CostModel::shape_seconds(const Pass& pass, int64_t frames,
                                             const std::vector<int64_t>& heights,
                                             const std::vector<int64_t>& widths, const Sizes& sizes,
                                             const std::vector<bool>& wanted) const {
  if (gpu_) return gpu_->shape_seconds(pass, frames, heights, widths, sizes, wanted);
  std::vector<double> seconds(heights.size() * widths.size(), 0);
  std::vector<Along> columns(widths.size());
  std::vector<int64_t> later_rows, later_columns;
  for (int64_t height : heights) later_rows.push_back(later_bands(*graph_, pass, height, sizes));
  const Extent grid = extent_at(pass.scale, sizes.latent);
  for (int64_t width : widths) later_columns.push_back(later_tiles(grid.x, width));
  for (const Step& step : pass.steps) {
    // The work of a tile is a product over the axes, so compute each factor once per length.
    const StepRates rates =
        latency_tables_ ? StepRates{} : rates_of(step, pass.convolutions.of(step.op), sizes);
    const DeviceRates moving = assumed_rates(*device_, sizes.dtype, sizes.tf32);
    const Axes<AxisWork> axes = work_axes(*graph_, pass, step, sizes);
    const Along time = along(axes.t, later_tiles(grid.t, frames));
    const double carrying = moving_seconds(*graph_, step, time, moving, sizes);
    for (size_t k = 0; k < widths.size(); ++k) columns[k] = along(axes.x, later_columns[k]);
    for (size_t i = 0; i < heights.size(); ++i) {
      const Along rows = along(axes.y, later_rows[i]);
      const double carrying_rows = moving_seconds(*graph_, step, rows, moving, sizes);
      const double per_tile = rates.per_tile * time.tiles * rows.tiles;
      const double per_position =
          (rates.per_position * time.positions + carrying) * rows.positions + carrying_rows;
      for (size_t k = 0; k < widths.size(); ++k) {
        double of_step = per_tile * columns[k].tiles + per_position * columns[k].positions;
        if (latency_tables_)
          of_step += latency_tables_->step_seconds(pass, step, {frames, heights[i], widths[k]}, sizes);
        seconds[i * widths.size() + k] += of_step;
      }
    }
  }
  return seconds;
}

bool CostModel::covers(const Pass& pass, const Extent& tile, const Sizes& sizes) const {
  return !latency_tables_ || !latency_tables_->beyond(pass, tile, sizes);
}

double CostModel::pass_seconds(const Pass& pass, const Extent& tile, const Sizes& sizes) const {
  if (gpu_) return gpu_->pass_seconds(pass, tile, sizes);
  double sum = 0;
  for (const Step& step : pass.steps) sum += step_seconds(pass, step, tile, sizes);
  return sum;
}

double CostModel::least_seconds(OpId id, const Sizes& sizes) const {
  if (latency_tables_) return latency_tables_->least_seconds(id, sizes);
  if (gpu_) return gpu_->least_seconds(id, sizes);
  const Op& op = graph_->op(id);
  const double whole =
      double(positions(own_extent(graph_->tensor(measured_tensor(op)), sizes)) * sizes.items);
  const DeviceRates rates = assumed_rates(*device_, sizes.dtype, sizes.tf32);
  if (op.kind == OpKind::add && fusion_on(sizes).residuals)  // a convolution does the add
    return whole * residual_seconds(*graph_, id, rates, sizes);
  return rates.step_seconds + whole * seconds_per_position(id, (*device_).algorithms.back(), sizes);
}

double CostModel::attention_seconds(OpId id, const Sizes& sizes) const {
  if (latency_tables_) return latency_tables_->least_seconds(id, sizes);
  const Op& op = graph_->op(id);
  const double flops = work_per_position(*graph_, op, sizes) *
                       double(positions(own_extent(graph_->tensor(op.output), sizes)) * sizes.items);
  return flops / flops_per_second(assumed_rates(*device_, sizes.dtype, sizes.tf32), op);
}

double CostModel::staging_seconds(OpId id, MemoryTier tier, int64_t bytes, const Sizes& sizes) const {
  const Op& op = graph_->op(id);
  const int64_t frames = extent_of(graph_->tensor(op.output), sizes.latent).t;
  int64_t read_frames = 0;
  for (int64_t t = 0; t < frames; ++t) read_frames += attended_frames(op.frames, t, frames).end;
  Transfers transfers;
  add_transfer(transfers, tier, false, double(bytes) * double(read_frames) / double(frames));
  return std::max(0.0, transfers.read_seconds - attention_seconds(id, sizes));
}

double CostModel::least_store_seconds(TensorId id, const Sizes& sizes) const {
  if (fusion_on(sizes).blocks) return 0;  // the convolution that computes the tensor may write its blocks
  const Tensor& tensor = graph_->tensor(id);
  const double whole = double(positions(own_extent(tensor, sizes)) * sizes.items);
  if (latency_tables_)
    return whole * latency_tables_->of({.kind = OpKind::store, .tensor = id}, ConvolutionAlgorithm::direct)
                       .least_seconds_per_position();
  if (gpu_) return gpu_->least_store_seconds(id, sizes);
  const DeviceRates rates = assumed_rates(*device_, sizes.dtype, sizes.tf32);
  const Step store{.kind = OpKind::store, .tensor = id};
  return rates.step_seconds + whole * moved_bytes(*graph_, store, sizes) / rates.bytes_per_second;
}

double CostModel::copies_seconds(std::span<const int64_t> copied_bytes) const {
  if (gpu_) return gpu_->copies_seconds(copied_bytes);
  const DeviceRates rates = assumed_rates(*device_, Dtype::fp32);
  double seconds = 0;
  for (const int64_t bytes : copied_bytes)
    seconds += rates.step_seconds + 2 * double(bytes) / rates.bytes_per_second;
  return seconds;
}

double CostModel::weights_seconds(int64_t bytes) const {
  return double(bytes) / weights_bytes_per_second_;
}

double CostModel::transform_seconds(int64_t bytes) const {
  return bytes == 0 ? 0 : double(bytes) / transform_bytes_per_second_;
}

void CostModel::add_transfer(Transfers& transfers, MemoryTier tier, bool written, double bytes) const {
  const double on_disk = written ? scratch_write_bytes_per_second_ : scratch_read_bytes_per_second_;
  const double on_host = written ? to_host_bytes_per_second_ : from_host_bytes_per_second_;
  // A single transfer thread does reads and writes one after another.
  double& seconds = written && both_ways_ ? transfers.written_seconds : transfers.read_seconds;
  seconds += bytes / (tier == MemoryTier::host ? on_host : on_disk);
}

double CostModel::sweep_seconds(double compute, const Transfers& transfers, size_t bands) {
  // Bands are fetched, computed and written in a pipeline of three stages. The longest stage is always busy.
  // The other two are exposed for one band each.
  std::array<double, 3> stages{compute, transfers.read_seconds, transfers.written_seconds};
  std::sort(stages.begin(), stages.end());
  return stages[2] + (stages[1] + stages[0]) / double(bands);
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

}  // namespace headroom::planner
