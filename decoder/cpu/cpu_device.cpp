#include "decoder/cpu/cpu_device.h"

#include "decoder/cpu/attention.h"
#include "decoder/cpu/convolution.h"
#include "decoder/cpu/frames.h"
#include "decoder/cpu/map_steps.h"
#include "decoder/cpu/normalisation.h"
#include "decoder/cpu/tile.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/parameters.h"
#include "decoder/interpreter/pixels.h"

namespace headroom {
namespace {

DeviceTile held(const Tile& tile) {
  return {tile.view(), tile.values};
}

}  // namespace

std::shared_ptr<void> CpuDevice::allocate(int64_t bytes, const InSeries&) {
  return pool_.take(bytes);
}

DeviceTile CpuDevice::make_tile(const Region& region, int64_t channels, int64_t items) {
  return held(headroom::make_tile(pool_, region, channels, items));
}

void CpuDevice::load_latent(const Array& latent, int64_t first_item, const MapView& view, int64_t items) {
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
    copy(source, copied.view, region, items);
    exact = &copied.view;
  }
  for (int64_t item = 0; item < items; ++item) {
    const auto* pixels = static_cast<const float*>(exact->blocks[static_cast<size_t>(item)]);
    require_finite(pixels, positions(extent_of(region)) * source.channels, layer);
    sink.write(first_item + item, region, pixels);
  }
}

void CpuDevice::begin_statistics(TensorId id, int64_t items) {
  const Op& op = *graph_.producer(id);
  if (op.kind == OpKind::statistics) {
    const int64_t frames = op.by_frame ? extent_of(graph_.tensor(op.inputs[0]), sizes_.latent).t : 0;
    statistics_.insert_or_assign(id, GroupStatistics(items, op.groups, frames));
  } else {
    sums_.insert_or_assign(id, KeyValueSums(items, {op.groups, head_channels(graph_, op)}));
  }
}

void CpuDevice::add_statistics(TensorId id, const MapView& source, const Region& region, int64_t items) {
  statistics_.at(id).add(source, region, items);
}

void CpuDevice::add_key_values(TensorId id, const std::vector<MapView>& inputs, const Region& region,
                               int64_t items) {
  sums_.at(id).add(inputs, region, items);
}

std::vector<double> CpuDevice::values_of(TensorId id) const {
  const auto sums = sums_.find(id);
  return sums == sums_.end() ? statistics_.at(id).values() : sums->second.values();
}

std::vector<double> CpuDevice::statistics_values(const std::vector<TensorId>& ids) {
  std::vector<double> values;
  for (const TensorId id : ids) {
    const std::vector<double> own = values_of(id);
    values.insert(values.end(), own.begin(), own.end());
  }
  return values;
}

void CpuDevice::set_statistics_values(const std::vector<TensorId>& ids, const std::vector<double>& values) {
  auto begin = values.begin();
  for (const TensorId id : ids) {
    const auto end = begin + static_cast<std::ptrdiff_t>(values_of(id).size());
    const std::vector<double> own(begin, end);
    begin = end;
    const auto sums = sums_.find(id);
    sums == sums_.end() ? statistics_.at(id).set_values(own) : sums->second.set_values(own);
  }
}

void CpuDevice::check_statistics(TensorId id, const std::string& layer) {
  const auto sums = sums_.find(id);
  if (!(sums == sums_.end() ? statistics_.at(id).finite() : sums->second.finite())) stop_not_finite(layer);
}

void CpuDevice::forget_statistics(TensorId id) {
  statistics_.erase(id);
  sums_.erase(id);
}

void CpuDevice::gather(const MapView& source, const MapView& target, const Extent& picture, int64_t items) {
  headroom::gather(source, target, picture, items);
}

void CpuDevice::copy(const MapView& source, const MapView& target, const Region& region, int64_t items) {
  copy_region(source, target, region, items);
}

void CpuDevice::add(const MapView& source, const MapView& target, Activation activation, const Region& region,
                    int64_t items) {
  add_region(source, target, activation, region, items);
}

void CpuDevice::activate(const MapView& tile, Activation activation, const Region& region, int64_t items) {
  headroom::activate(tile, activation, region, items);
}

void CpuDevice::round(const MapView& tile, int64_t items) {
  round_tile(tile, sizes_.dtype, items);
}

void CpuDevice::normalise(const Op& op, const MapView& source, const MapView& target, const Extent& picture,
                          int64_t items) {
  const Op& measured = *graph_.producer(op.inputs[1]);
  headroom::normalise({weights_of(op), measured.epsilon, op.activation}, statistics_.at(op.inputs[1]), source,
                      target, picture, items);
}

void CpuDevice::rms_normalise(const Op& op, const MapView& source, const MapView& target,
                              const Region& region, int64_t items) {
  headroom::rms_normalise({weights_of(op), op.epsilon, op.activation, op.centred}, source, target, region,
                          items);
}

void CpuDevice::upsample(const Op& op, const MapView& source, const MapView& target, const Extent& picture,
                         int64_t items) {
  headroom::upsample(source, target, op.factor, picture, items);
}

void CpuDevice::convolve(const Op& op, const ConvolutionViews& views, const Region& region,
                         const Extent& picture, int64_t items) {
  const Region part = inside(region, picture);
  headroom::convolve(pool_,
                     {views.source, weights_of(op).kernel, views.target, part, items, ToldShare(told_)});
  headroom::activate(views.target, op.activation, part, items);
}

void CpuDevice::fill_outside(const MapView& tile, Edges edges, const Extent& picture, int64_t items) {
  headroom::fill_outside(tile, edges, picture, items);
}

void CpuDevice::interpolate(const Op& op, const MapView& source, const MapView& target,
                            const Extent& source_picture, const Region& region, int64_t items) {
  headroom::interpolate(source, target, op.factor, source_picture, region, items);
}

void CpuDevice::unfold_frames(const MapView& first, const MapView& rest, const MapView& target,
                              const Region& region, int64_t items) {
  headroom::unfold_frames(first, rest, target, region, items);
}

void CpuDevice::gate(const MapView& source, const MapView& target, const Region& region, int64_t items) {
  headroom::gate(source, target, region, items);
}

void CpuDevice::depth_to_space(const Op& op, const MapView& source, const MapView& target,
                               const Region& region, int64_t items) {
  headroom::depth_to_space(op, source, target, region, items);
}

void CpuDevice::attend(const Op& op, const MapView& queries, const MapView& keys, const MapView& values,
                       const MapView& target, int64_t items) {
  headroom::attend(pool_, {queries, keys, values}, op.frames, target, items, ToldShare(told_));
}

void CpuDevice::attend_part(const Op& op, const AttentionPart& part) {
  const int64_t queries = part.target.region.y.length() * part.target.region.x.length();
  const AttentionWork work =
      attention_work(queries, most_attended_keys(graph_, op, sizes_.latent), part.target.channels);
  if (part.first) attending_ = pool_.take_floats(work.floats(thread_count()));
  headroom::attend_part(work, attending_.get(), part, ToldShare(told_));
  if (part.last) attending_.reset();
}

void CpuDevice::attend_linearly(const Op& op, const std::vector<MapView>& inputs, const MapView& target,
                                const Region& region, int64_t items) {
  headroom::attend_linearly(pool_, inputs, {sums_.at(op.inputs.back()), op.epsilon}, target, region, items);
}

}  // namespace headroom
