#include "decoder/cpu/cpu_device.h"

#include <array>

#include "decoder/cpu/cpu_steps.h"
#include "decoder/cpu/tile.h"
#include "decoder/graph/geometry.h"
#include "decoder/interpreter/pixels.h"
#include "decoder/operations/attention.h"

namespace headroom {
namespace {

DeviceTile held(const Tile& tile) {
  return {tile.view(), tile.values};
}

}  // namespace

std::shared_ptr<void> CpuDevice::allocate(int64_t bytes, const InSeries&) {
  return steps_.pool.take(bytes);
}

DeviceTile CpuDevice::make_tile(const Region& region, int64_t channels, int64_t items) {
  return held(headroom::make_tile(steps_.pool, region, channels, items));
}

void CpuDevice::load_latent(const ArrayView& latent, int64_t first_item, const MapView& view, int64_t items) {
  std::vector<float*> targets;
  for (int64_t item = 0; item < items; ++item)
    targets.push_back(static_cast<float*>(view.blocks[static_cast<size_t>(item)]));
  interleave_planes(latent, first_item, view.channels, positions(extent_of(view.region)), targets);
}

void CpuDevice::emit(const MapView& source, const Region& region, int64_t first_item, int64_t items,
                     const std::string& layer, PictureSink& sink) {
  DeviceTile copied;
  const MapView* exact = &source;
  if (source.blocks_per_item != 1 || source.region != region || source.dtype != Dtype::fp32) {
    copied = make_tile(region, source.channels, items);
    copy_region(source, copied.view, region, items);
    exact = &copied.view;
  }
  for (int64_t item = 0; item < items; ++item) {
    const auto* pixels = static_cast<const float*>(exact->blocks[static_cast<size_t>(item)]);
    require_finite(pixels, positions(extent_of(region)) * source.channels, layer);
    sink.write(first_item + item, region, pixels);
  }
}

void CpuDevice::begin(TensorId id, int64_t items, const Interval& frames) {
  const Op& op = *steps_.graph.producer(id);
  if (op.kind == OpKind::statistics) {
    steps_.statistics.insert_or_assign(
        id, GroupStatistics(items, op.groups, op.by_frame ? frames : Interval{}, op.run_frames));
  } else {
    steps_.sums.insert_or_assign(id, KeyValueSums(items, {op.groups, head_channels(steps_.graph, op)}));
  }
}

std::vector<double> CpuDevice::values_of(TensorId id) const {
  const auto sums = steps_.sums.find(id);
  return sums == steps_.sums.end() ? steps_.statistics.at(id).values() : sums->second.values();
}

std::vector<double> CpuDevice::values(const std::vector<TensorId>& ids) {
  std::vector<double> all;
  for (const TensorId id : ids) {
    const std::vector<double> own = values_of(id);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

void CpuDevice::set_values(const std::vector<TensorId>& ids, const std::vector<double>& values) {
  auto begin = values.begin();
  for (const TensorId id : ids) {
    const auto end = begin + static_cast<std::ptrdiff_t>(values_of(id).size());
    const std::vector<double> own(begin, end);
    begin = end;
    const auto sums = steps_.sums.find(id);
    sums == steps_.sums.end() ? steps_.statistics.at(id).set_values(own) : sums->second.set_values(own);
  }
}

void CpuDevice::check(TensorId id, const std::string& layer) {
  const auto sums = steps_.sums.find(id);
  if (!(sums == steps_.sums.end() ? steps_.statistics.at(id).finite() : sums->second.finite()))
    stop_not_finite(layer);
}

void CpuDevice::forget(TensorId id) {
  steps_.statistics.erase(id);
  steps_.sums.erase(id);
}

void CpuDevice::run(const StepCall& call) {
  static constexpr std::array kRuns{
#define X(kind) &cpu_steps::kind,
      HEADROOM_DEVICE_STEPS(X)
#undef X
  };
  kRuns.at(index(call.kind))(steps_, call);
}

void CpuDevice::round(const MapView& tile, int64_t items) {
  round_tile(tile, steps_.sizes.dtype, items);
}

void CpuDevice::fill_outside(const MapView& tile, Edges edges, const Extent& picture, int64_t items) {
  headroom::fill_outside(tile, edges, picture, items);
}

}  // namespace headroom
