#include "decoder/cpu/statistics.h"

#include <algorithm>
#include <cmath>

#include "decoder/cpu/loops/channel_sums.h"
#include "decoder/cpu/loops/storage.h"
#include "decoder/cpu/rows.h"

namespace headroom {

void GroupStatistics::add(const MapView& view, const Region& region, int64_t items) {
  // Frame by frame: what is summed up meanwhile stays small.
  for (int64_t t = region.t.begin; t < region.t.end; ++t) {
    Region frame = region;
    frame.t = {t, t + 1};
    add_frame(view, frame, items);
  }
}

void GroupStatistics::add_frame(const MapView& view, const Region& frame, int64_t items) {
  const int64_t channels = view.channels;
  const int64_t rows = frame.y.length();
  const int64_t columns = frame.x.length();
  // Sums per row and channel first, then folded in row order: the result does not depend on the threads.
  std::vector<double> sums(static_cast<size_t>(items * rows * channels * 2), 0.0);
  for_rows(items, frame, columns * channels, [&](const Row& row) {
    double* sum = sums.data() + (row.item * rows + (row.y - frame.y.begin)) * channels * 2;
    if (view.dtype == Dtype::fp32) {
      kernels::channel_sums(view.at(row, frame.x.begin), columns, channels, sum, sum + channels);
      return;
    }
    // So many values are converted at one time, in whole runs of what channel_sums() adds up before it hands
    // on, so that sums come in the order in which a tile's do.
    constexpr int64_t kChunk = 8192, kRun = 8;
    const int64_t chunk = std::max(kRun, kChunk / channels / kRun * kRun);
    std::vector<float> values(static_cast<size_t>(std::min(chunk, columns) * channels));
    for (int64_t x = frame.x.begin; x < frame.x.end; x += chunk) {
      const int64_t pixels = std::min(chunk, frame.x.end - x);
      kernels::widen(view.dtype, view.place(row, x), values.data(), pixels * channels);
      kernels::channel_sums(values.data(), pixels, channels, sum, sum + channels);
    }
  });
  const int64_t group_channels = channels / groups_;
  for (int64_t item = 0; item < items; ++item) {
    for (int64_t group = 0; group < groups_; ++group) {
      double sum = 0, square_sum = 0;
      for (int64_t row = 0; row < rows; ++row) {
        const double* line = sums.data() + (item * rows + row) * channels * 2;
        for (int64_t c = group * group_channels; c < (group + 1) * group_channels; ++c) {
          sum += line[c];
          square_sum += line[channels + c];
        }
      }
      const auto count = double(rows * columns * group_channels);
      const double mean = sum / count;
      const int64_t set = set_of({item, frame.t.begin, 0});
      Moments& moments = moments_[static_cast<size_t>(set * groups_ + group)];
      moments = merged(moments, {count, mean, square_sum - sum * mean});
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

void GroupStatistics::affine(int64_t set, int64_t channels, const NormParameters& norm, float* scale,
                             float* shift) const {
  const int64_t group_channels = channels / groups_;
  for (int64_t c = 0; c < channels; ++c) {
    const Moments& moments = moments_[static_cast<size_t>(set * groups_ + c / group_channels)];
    const double variance = std::max(0.0, moments.m2 / moments.count);
    const double factor = double(norm.weight[c]) / std::sqrt(variance + norm.epsilon);
    scale[c] = static_cast<float>(factor);
    shift[c] = static_cast<float>(double(norm.bias[c]) - moments.mean * factor);
  }
}

}  // namespace headroom
