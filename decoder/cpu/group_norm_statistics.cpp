#include "decoder/cpu/group_norm_statistics.h"

#include <algorithm>
#include <cmath>

#include "decoder/cpu/cpu_steps.h"
#include "decoder/cpu/loops/norm.h"
#include "decoder/cpu/loops/storage.h"
#include "decoder/cpu/rows.h"

namespace headroom {
namespace {

/// Maximum size of the row sums. They lie outside the pool, so keep them small, but with rows for many
/// threads.
constexpr int64_t kMostSumBytes = int64_t{512} << 10;

/// Sums of values and of squares of each channel of each row: [items][rows][2][channels].
void sum_rows(const MapView& view, const Region& band, int64_t items, std::vector<double>& sums) {
  const int64_t channels = view.channels;
  const int64_t rows = band.y.length(), columns = band.x.length();
  sums.assign(static_cast<size_t>(items * rows * channels * 2), 0.0);
  for_rows(items, band, columns * channels, [&](const Row& row) {
    double* sum = sums.data() + (row.item * rows + (row.y - band.y.begin)) * channels * 2;
    if (view.dtype == Dtype::fp32) {
      kernels::channel_sums(view.at(row, band.x.begin), columns, channels, sum, sum + channels);
      return;
    }
    // Convert this many values at a time: whole runs of channel_sums(), so that the order of summation is the
    // same as for an fp32 tile.
    constexpr int64_t kChunk = 8192, kRun = 8;
    const int64_t chunk = std::max(kRun, kChunk / channels / kRun * kRun);
    std::vector<float> values(static_cast<size_t>(std::min(chunk, columns) * channels));
    for (int64_t x = band.x.begin; x < band.x.end; x += chunk) {
      const int64_t pixels = std::min(chunk, band.x.end - x);
      kernels::widen(view.dtype, view.place(row, x), values.data(), pixels * channels);
      kernels::channel_sums(values.data(), pixels, channels, sum, sum + channels);
    }
  });
}

}  // namespace

void GroupStatistics::add(const MapView& view, const Region& region, int64_t items) {
  // Frame by frame, to keep the row sums small.
  for (int64_t t = region.t.begin; t < region.t.end; ++t) {
    Region frame = region;
    frame.t = {t, t + 1};
    add_frame(view, frame, items);
  }
}

void GroupStatistics::add_frame(const MapView& view, const Region& frame, int64_t items) {
  const int64_t group_channels = view.channels / groups_;
  const int64_t bytes_of_row = items * view.channels * 2 * static_cast<int64_t>(sizeof(double));
  const int64_t step = std::max<int64_t>(1, kMostSumBytes / bytes_of_row);
  struct Sums {
    double values = 0, squares = 0;
  };
  std::vector<Sums> of_group(static_cast<size_t>(items * groups_));
  std::vector<double> sums;
  // Sums per row and channel first, then folded in row order: the result does not depend on the threads.
  for (int64_t y = frame.y.begin; y < frame.y.end; y += step) {
    Region band = frame;
    band.y = {y, std::min(y + step, frame.y.end)};
    sum_rows(view, band, items, sums);
    const double* line = sums.data();
    for (int64_t item = 0; item < items; ++item) {
      for (int64_t row = 0; row < band.y.length(); ++row, line += view.channels * 2) {
        for (int64_t group = 0; group < groups_; ++group) {
          Sums& sum = of_group[static_cast<size_t>(item * groups_ + group)];
          for (int64_t c = group * group_channels; c < (group + 1) * group_channels; ++c) {
            sum.values += line[c];
            sum.squares += line[view.channels + c];
          }
        }
      }
    }
  }
  const auto count = double(frame.y.length() * frame.x.length() * group_channels);
  for (int64_t item = 0; item < items; ++item) {
    const int64_t set = set_of({item, frame.t.begin, 0});
    for (int64_t group = 0; group < groups_; ++group) {
      const Sums& sum = of_group[static_cast<size_t>(item * groups_ + group)];
      const double mean = sum.values / count;
      Moments& moments = moments_[static_cast<size_t>(set * groups_ + group)];
      moments = merged(moments, {count, mean, sum.squares - sum.values * mean});
    }
  }
}

std::vector<double> GroupStatistics::values() const {
  std::vector<double> values;
  for (const Moments& moments : moments_)
    values.insert(values.end(), {moments.count, moments.mean, moments.m2});
  return values;
}

void GroupStatistics::set_values(const std::vector<double>& values) {
  for (size_t i = 0; i < moments_.size(); ++i)
    moments_[i] = {values[3 * i], values[3 * i + 1], values[3 * i + 2]};
}

bool GroupStatistics::finite() const {
  for (const Moments& moments : moments_) {
    if (!std::isfinite(moments.mean) || !std::isfinite(moments.m2)) return false;
  }
  return true;
}

Moments GroupStatistics::moments_of(int64_t set, int64_t group) const {
  if (!by_frame()) return moments_[static_cast<size_t>(set * groups_ + group)];
  const int64_t frame = frames_.begin + set % frames_.length();
  Moments moments;
  const Interval run = intersect(frames_of_run(frame, run_frames_, frames_.end), frames_);
  for (int64_t t = run.begin; t < run.end; ++t)
    moments = merged(moments, moments_[static_cast<size_t>((set + t - frame) * groups_ + group)]);
  return moments;
}

void GroupStatistics::affine(int64_t set, int64_t channels, const NormParameters& norm, float* scale,
                             float* shift) const {
  const int64_t group_channels = channels / groups_;
  Moments moments;
  for (int64_t c = 0; c < channels; ++c) {
    if (c % group_channels == 0) moments = moments_of(set, c / group_channels);
    const double variance = std::max(0.0, moments.m2 / moments.count);
    const double factor = double(norm.weight[c]) / std::sqrt(variance + norm.epsilon);
    scale[c] = static_cast<float>(factor);
    shift[c] = static_cast<float>(double(norm.bias[c]) - moments.mean * factor);
  }
}

void cpu_steps::statistics(CpuSteps& steps, const StepCall& call) {
  steps.statistics.at(call.op->output).add(call.inputs[0], call.region, call.items);
}

}  // namespace headroom
