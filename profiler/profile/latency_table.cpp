#include "profiler/profile/latency_table.h"

#include <algorithm>
#include <cmath>

#include "decoder/graph/geometry.h"
#include "decoder/operations/attention.h"
#include "decoder/operations/convolution.h"
#include "decoder/operations/operation.h"

namespace headroom::profiler {
namespace {

constexpr double kBeyondSeen = 4;
constexpr double kRatesAgree = 0.15;

/// Index of the grid point that begins the interval with `at`. Beyond the ends it is the nearest interval.
size_t interval_of(const std::vector<int64_t>& points, double at) {
  size_t i = 0;
  while (i + 2 < points.size() && at >= double(points[i + 1])) ++i;
  return i;
}

/// The line between two grid points, from (from, low) to (to, high). `first` and `last` mark the ends of the
/// table.
struct Line {
  double from, low, to, high;
  bool first, last;
};

/// Value of the line at `at`, or its extrapolation beyond an end of the table. `last_rate` is the rate at the
/// table's far corner along this axis.
double along(double at, const Line& line, double last_rate) {
  const auto& [from, low, to, high, first, last] = line;
  if (last && at > to) {
    const double average = high / to;
    const double slope =
        std::max(std::min((high - low) / (to - from), average), std::min(average, last_rate));
    return high + slope * (at - to);
  }
  const double value = low + (high - low) * (at - from) / (to - from);
  return first && at < from ? std::max(value, low * at / from) : value;
}

}  // namespace

double LatencyTable::seconds_at(double row_count, double column_count) const {
  const size_t width = columns.size();
  const double corner = seconds.back() / double(rows.back() * columns.back());
  const size_t y = interval_of(rows, row_count);
  const auto in_row = [&](size_t row) {
    const double* line = seconds.data() + row * width;
    if (width == 1) return line[0] * column_count / double(columns[0]);
    const size_t i = interval_of(columns, column_count);
    return along(column_count,
                 {double(columns[i]), line[i], double(columns[i + 1]), line[i + 1], i == 0, i + 2 == width},
                 corner * double(rows[row]));
  };
  const double low = in_row(y);
  if (rows.size() == 1) return low * row_count / double(rows[0]);
  return along(row_count,
               {double(rows[y]), low, double(rows[y + 1]), in_row(y + 1), y == 0, y + 2 == rows.size()},
               corner * column_count);
}

int64_t LatencyTable::workspace_at(int64_t row_count, int64_t column_count) const {
  const auto around = [](const std::vector<int64_t>& points, int64_t at) {
    const auto above =
        static_cast<size_t>(std::lower_bound(points.begin(), points.end(), at) - points.begin());
    const size_t to = std::min(above, points.size() - 1);
    return std::pair(above == 0 || points[to] == at ? to : above - 1, to);
  };
  const auto [top, bottom] = around(rows, row_count);
  const auto [left, right] = around(columns, column_count);
  int64_t largest = 0;
  for (size_t y : {top, bottom}) {
    for (size_t x : {left, right}) largest = std::max(largest, workspace_bytes[y * columns.size() + x]);
  }
  const double beyond = std::max(1.0, double(row_count) / double(rows.back())) *
                        std::max(1.0, double(column_count) / double(columns.back()));
  // A workspace that grew in the measured range is extrapolated. Otherwise it is a buffer of fixed size.
  const bool grows =
      workspace_bytes.size() > 1 && workspace_bytes.back() > workspace_bytes[workspace_bytes.size() / 2];
  return beyond > 1 && grows ? static_cast<int64_t>(std::min(double(largest) * beyond, 0x1p60)) : largest;
}

// The minimum lies at a grid point: between two grid points seconds are linear, so seconds per position are
// monotone. Beyond the ends `along` never goes below the rate of a grid point.
double LatencyTable::least_seconds_per_position() const {
  double least = seconds[0] / double(rows[0] * columns[0]);
  for (size_t i = 0; i < seconds.size(); ++i) {
    least = std::min(least, seconds[i] / double(rows[i / columns.size()] * columns[i % columns.size()]));
  }
  return least;
}

double LatencyTable::least_seconds_per_row(double column_count) const {
  double least = seconds_at(double(rows[0]), column_count) / double(rows[0]);
  for (int64_t row : rows) least = std::min(least, seconds_at(double(row), column_count) / double(row));
  // Extrapolation may use the far corner's rate.
  return std::min(least, seconds.back() / double(rows.back() * columns.back()) * column_count);
}

bool LatencyTable::covers(double positions) const {
  if (positions <= kBeyondSeen * double(most_positions())) return true;
  if (rows.size() < 3) return false;
  const auto rate = [&](size_t i) {
    const double low = seconds[i * columns.size() + columns.size() - 1];
    const double high = seconds[(i + 1) * columns.size() + columns.size() - 1];
    return (high - low) / double(rows[i + 1] - rows[i]);
  };
  const double last = rate(rows.size() - 2), before = rate(rows.size() - 3);
  return std::abs(last - before) <= (kRatesAgree + held_out_error) * std::max(last, before);
}

void make_monotone(LatencyTable& latency_table) {
  const size_t height = latency_table.rows.size(), width = latency_table.columns.size();
  for (size_t y = height; y-- > 0;) {
    for (size_t x = width; x-- > 0;) {
      double& here = latency_table.seconds[y * width + x];
      if (y + 1 < height) here = std::min(here, latency_table.seconds[(y + 1) * width + x]);
      if (x + 1 < width) here = std::min(here, latency_table.seconds[y * width + x + 1]);
    }
  }
}

std::string latency_table_name(const Graph& graph, const Op& op, ConvolutionAlgorithm algorithm) {
  std::string name = operation(op.kind).table_name(graph, op);
  const bool winograd = op.kind == OpKind::conv &&
                        algorithm_of(kernel_shape(graph, op), algorithm) == ConvolutionAlgorithm::winograd;
  if (winograd) name.replace(name.find("conv "), 5, "winograd ");
  return name;
}

std::string moving_latency_table_name(const char* step, int64_t channels) {
  return std::string(step) + " " + std::to_string(channels);
}

CallsOfStep calls_of(OpKind kind, const DeviceRecord& device, double frames, double items) {
  if (kind == OpKind::attention) return {frames * items, 1};
  if (device.is_host) return {1, frames * items};
  if (kind == OpKind::statistics || kind == OpKind::emit) return {frames * items, 1};
  return {items, frames};
}

double attention_seconds(const LatencyTable& latency_table, const Graph& graph, const Op& op,
                         const Extent& latent, double queries) {
  const auto with_keys_of = [&](int64_t frame) {
    return latency_table.seconds_at(queries, double(attended_keys(graph, op, latent, frame)));
  };
  if (op.frames != AttentionFrames::up_to_own) return with_keys_of(0);
  const int64_t frames = extent_of(graph.tensor(op.output), latent).t;
  double sum = 0;
  for (int64_t frame = 0; frame < frames; ++frame) sum += with_keys_of(frame);
  return sum / double(frames);
}

Extent latency_table_extent(const Graph& graph, const Op& op, const Extent& latent) {
  if (op.kind == OpKind::attention) {
    const Extent queries = extent_of(graph.tensor(op.output), latent);
    return {1, queries.y * queries.x, most_attended_keys(graph, op, latent)};
  }
  const Extent extent = extent_of(graph.tensor(measured_tensor(op)), latent);
  return {1, extent.t * extent.y, extent.x};
}

}  // namespace headroom::profiler
