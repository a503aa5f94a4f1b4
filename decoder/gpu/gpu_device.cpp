#include "decoder/gpu/gpu_device.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "decoder/gpu/calls/workspace.h"
#include "decoder/gpu/plain_view.h"
#include "decoder/graph/errors.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/parameters.h"
#include "decoder/interpreter/pixels.h"
#include "decoder/lowering/gpu_layout.h"
#include "decoder/lowering/weights_bytes.h"

namespace headroom {
namespace {

gpu::ConvolutionShape shape_of(const KernelShape& kernel) {
  return {static_cast<int32_t>(kernel.inputs),
          static_cast<int32_t>(kernel.outputs),
          static_cast<int32_t>(kernel.groups),
          static_cast<int32_t>(kernel.frames),
          static_cast<int32_t>(kernel.rows),
          static_cast<int32_t>(kernel.columns),
          kernel.upsamples,
          kernel.before_first,
          static_cast<int32_t>(kernel.frames_ahead)};
}

/// host_weights() leaves this shift out of the last convolution's bias.
float shift_of_picture(const Graph& graph) {
  const Op* last = graph.output() == TensorId{-1} ? nullptr : graph.producer(graph.output());
  return last == nullptr ? 0 : static_cast<float>(last->convolution.shift);
}

}  // namespace

GpuDevice::GpuDevice(const Graph& graph, const Plan& plan, GpuMemory& memory, const WeightSource& weights,
                     PinnedStaging& staging)
    : graph_(graph),
      plan_(plan),
      sizes_(sizes_of(graph, plan)),
      memory_(memory),
      weights_(weights),
      gpu_(staging.gpu()),
      staging_(staging),
      copies_(staging),
      output_(gpu_, staging.output(), shift_of_picture(graph)),
      layout_(gpu::state_layout(graph, sizes_)) {
  if (layout_.bytes > 0) state_ = memory_.allocate(layout_.bytes);
}

/// A copy of weights may still run when a decode ends early. The next user of the memory works on the compute
/// stream, so that stream waits for the copy.
GpuDevice::~GpuDevice() {
  if (!next_weights_) return;
  try {
    gpu_.wait(gpu::Stream::compute, *next_weights_);
  } catch (...) {
    // The error that ended the decode is already reported.
  }
}

std::shared_ptr<void> GpuDevice::allocate(int64_t bytes, const InSeries& series) {
  return memory_.allocate_block(bytes, series);
}

std::shared_ptr<void> GpuDevice::workspace(int64_t bytes) {
  return bytes > 0 ? memory_.allocate(bytes) : nullptr;
}

DeviceTile GpuDevice::make_tile(const Region& region, int64_t channels, int64_t items) {
  bring_next_weights();
  DeviceTile tile;
  tile.view = {.region = region,
               .channels = channels,
               .block_rows = region.y.length(),
               .blocks_per_item = 1,
               .blocks = {},
               .dtype = sizes_.dtype};
  const int64_t bytes = positions(extent_of(region)) * channels * bytes_per_element(sizes_.dtype);
  auto memory = std::make_shared<std::vector<std::shared_ptr<void>>>();
  for (int64_t item = 0; item < items; ++item) {
    memory->push_back(memory_.allocate(bytes));
    tile.view.blocks.push_back(memory->back().get());
  }
  tile.memory = std::move(memory);
  return tile;
}

gpu::View GpuDevice::view_of(const MapView& map, int64_t item) const {
  const auto first = static_cast<size_t>(item * map.blocks_per_item);
  // A single block is its own base, because a view of some frames of a tile may be unaligned.
  const bool single = map.blocks_per_item == 1;
  gpu::View view =
      plain_view(single ? map.blocks[first] : memory_.base(), map.region, map.channels, map.dtype);
  view.block_rows = static_cast<int32_t>(std::max<int64_t>(1, map.block_rows));
  view.blocks = static_cast<int32_t>(map.blocks_per_item);
  for (int64_t b = 0; b < map.blocks_per_item; ++b) {
    const auto i = static_cast<size_t>(b);
    const auto* block = static_cast<const std::byte*>(map.blocks[first + i]);
    view.block_units[i] =
        block == nullptr ? gpu::kAbsent : static_cast<uint32_t>((block - view.base) / gpu::kBlockUnit);
  }
  return view;
}

const GpuOpWeights& GpuDevice::weights_of(const Op& op) const {
  const OpId id = graph_.tensor(op.output).producer;
  return of_pass_ ? of_pass_->of(id) : weights_.resident->of(id);
}

void GpuDevice::load_latent(const Array& latent, int64_t first_item, const MapView& view, int64_t items) {
  const int64_t count = positions(extent_of(view.region)), values = count * view.channels;
  std::vector<float> pixels(static_cast<size_t>(values));
  for (int64_t item = 0; item < items; ++item) {
    interleave_planes(latent, first_item + item, view.channels, count, {pixels.data()});
    copies_.to_device(reinterpret_cast<const std::byte*>(pixels.data()),
                      {{view.blocks[static_cast<size_t>(item)], values * int64_t{sizeof(float)}}});
  }
}

void GpuDevice::emit(const MapView& source, const Region& region, int64_t first_item, int64_t items,
                     const std::string& layer, PictureSink& sink) {
  for (int64_t item = 0; item < items; ++item)
    output_.emit(view_of(source, item), first_item + item, region, layer, sink);
}

void GpuDevice::finish_output() {
  output_.finish();
}

std::map<const void*, void*> GpuDevice::move_blocks() {
  return memory_.move_blocks(
      [&](void* to, const void* from, int64_t bytes) { gpu_.copy(gpu::Stream::compute, to, from, bytes); });
}

void GpuDevice::begin_pass(size_t number) {
  pass_ = number;
  if (weights_.resident == nullptr) bring_weights(number);
  make_affines(plan_.passes[number]);
  bring_next_weights();
}

void GpuDevice::bring_weights(size_t number) {
  const Pass& pass = plan_.passes[number];
  const std::vector<OpId> operations = operations_of(pass);
  auto memory = memory_.allocate(pass_weights_bytes(graph_, pass, ConvolutionAlgorithm::direct,
                                                    WeightResidency::per_pass, sizes_.storage()));
  if (weights_.pinned == nullptr) {
    of_pass_.emplace(graph_, operations, sizes_.dtype, std::move(memory),
                     GpuWeights::Loading{weights_.values, staging_});
    return;
  }
  const gpu::Event there =
      next_weights_ ? *next_weights_ : copy_weights(number, static_cast<std::byte*>(memory.get()));
  next_weights_.reset();
  gpu_.wait(gpu::Stream::compute, there);
  of_pass_.emplace(graph_, operations, std::move(memory), *weights_.pinned);
}

void GpuDevice::bring_next_weights() {
  if (weights_.ahead == nullptr || next_weights_ || pass_ + 1 >= plan_.passes.size()) return;
  const WeightsAhead& next = (*weights_.ahead)[pass_ + 1];
  if (memory_.next_event() >= next.event)
    next_weights_ = copy_weights(pass_ + 1, memory_.base() + next.offset);
}

/// Earlier work may still use the place, so the copy waits for all work queued so far.
gpu::Event GpuDevice::copy_weights(size_t pass, std::byte* to) {
  gpu_.wait(gpu::Stream::from_host, gpu_.record(gpu::Stream::compute));
  for (const PinnedWeights::Copy& copy : weights_.pinned->copies(operations_of(plan_.passes[pass]), to))
    gpu_.copy(gpu::Stream::from_host, copy.to, copy.from, copy.bytes);
  return gpu_.record(gpu::Stream::from_host);
}

void GpuDevice::make_affines(const Pass& pass) {
  for (OpId id : operations_of(pass)) {
    const Op& op = graph_.op(id);
    if (op.kind != OpKind::norm) continue;
    const Op& measured = *graph_.producer(op.inputs[1]);
    const auto sets = static_cast<int32_t>(gpu::statistics_sets(graph_, measured, sizes_));
    const auto channels = static_cast<int32_t>(graph_.tensor(op.output).channels);
    for (int64_t item = 0; item < sizes_.items; ++item) {
      auto* scale = reinterpret_cast<float*>(state_at(layout_.affines.at(op.output), item));
      run(gpu::Affine{reinterpret_cast<const Moments*>(state_at(layout_.statistics.at(op.inputs[1]), item)),
                      sets, measured.groups, channels, measured.epsilon, weights_of(op).scale,
                      weights_of(op).norm_bias, scale, scale + int64_t{sets} * channels});
    }
  }
}

void GpuDevice::begin_statistics(TensorId id, int64_t items) {
  const gpu::StateLayout::Buffer& buffer = layout_.statistics.at(id);
  gpu_.clear(state_at(buffer, 0), items * buffer.item_bytes);
}

void GpuDevice::add_statistics(TensorId id, const MapView& source, const Region& region, int64_t items) {
  const Op& op = *graph_.producer(id);
  const gpu::StateLayout::Buffer& buffer = layout_.statistics.at(id);
  auto* partial = reinterpret_cast<Moments*>(static_cast<std::byte*>(state_.get()) + layout_.partial_offset);
  for (int64_t item = 0; item < items; ++item) {
    const gpu::View view = view_of(source, item);
    for (int64_t t = region.t.begin; t < region.t.end; ++t) {
      Region frame = region;
      frame.t = {t, t + 1};
      run(gpu::AddMoments{view, box_of(frame), op.groups, op.by_frame, partial,
                          reinterpret_cast<Moments*>(state_at(buffer, item))});
    }
  }
}

void GpuDevice::add_key_values(TensorId id, const std::vector<MapView>& inputs, const Region& region,
                               int64_t items) {
  const int64_t channels = head_channels(graph_, *graph_.producer(id));
  auto* partial = reinterpret_cast<float*>(static_cast<std::byte*>(state_.get()) + layout_.partial_offset);
  for (int64_t item = 0; item < items; ++item) {
    auto* sums = reinterpret_cast<double*>(state_at(layout_.statistics.at(id), item));
    for (const MapView& input : inputs) {
      const int64_t heads = input.channels / (3 * channels);
      run(gpu::AddKeyValueSums{view_of(input, item), box_of(region), static_cast<int32_t>(heads),
                               static_cast<int32_t>(channels), partial, sums});
      sums += heads * channels * (channels + 1);
    }
  }
}

std::vector<Span> GpuDevice::statistics_spans(const std::vector<TensorId>& ids) const {
  std::vector<Span> spans;
  for (const TensorId id : ids) {
    const gpu::StateLayout::Buffer& buffer = layout_.statistics.at(id);
    for (int64_t item = 0; item < sizes_.items; ++item)
      spans.push_back({state_at(buffer, item), buffer.own_bytes});
  }
  return spans;
}

std::vector<double> GpuDevice::statistics_values(const std::vector<TensorId>& ids) {
  const Message all{0, statistics_spans(ids)};
  std::vector<double> values(static_cast<size_t>(bytes_of(all)) / sizeof(double));
  copies_.to_host(all.spans, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

void GpuDevice::set_statistics_values(const std::vector<TensorId>& ids, const std::vector<double>& values) {
  copies_.to_device(reinterpret_cast<const std::byte*>(values.data()), statistics_spans(ids));
}

void GpuDevice::check_statistics(TensorId id, const std::string& layer) {
  const gpu::StateLayout::Buffer& buffer = layout_.statistics.at(id);
  output_.check_finite(reinterpret_cast<const double*>(state_at(buffer, 0)),
                       sizes_.items * buffer.item_bytes / int64_t{sizeof(double)}, layer);
}

void GpuDevice::gather(const MapView& source, const MapView& target, const Extent& picture, int64_t items) {
  for (int64_t i = 0; i < items; ++i)
    run(gpu::Gather{view_of(source, i), view_of(target, i), size_of(picture)});
}

void GpuDevice::copy(const MapView& source, const MapView& target, const Region& region, int64_t items) {
  for (int64_t i = 0; i < items; ++i) run(gpu::Copy{view_of(source, i), view_of(target, i), box_of(region)});
}

void GpuDevice::add(const MapView& source, const MapView& target, Activation activation, const Region& region,
                    int64_t items) {
  for (int64_t i = 0; i < items; ++i)
    run(gpu::Add{view_of(source, i), view_of(target, i), activation, box_of(region)});
}

void GpuDevice::activate(const MapView& tile, Activation activation, const Region& region, int64_t items) {
  if (activation == Activation::none) return;
  for (int64_t i = 0; i < items; ++i) run(gpu::Activate{view_of(tile, i), activation, box_of(region)});
}

void GpuDevice::normalise(const Op& op, const MapView& source, const MapView& target, const Extent& picture,
                          int64_t items) {
  const Op& measured = *graph_.producer(op.inputs[1]);
  const int64_t sets = gpu::statistics_sets(graph_, measured, sizes_);
  for (int64_t i = 0; i < items; ++i) {
    const auto* scale = reinterpret_cast<const float*>(state_at(layout_.affines.at(op.output), i));
    run(gpu::Normalise{view_of(source, i), view_of(target, i), scale, scale + sets * source.channels,
                       measured.by_frame, op.activation, size_of(picture)});
  }
}

void GpuDevice::rms_normalise(const Op& op, const MapView& source, const MapView& target,
                              const Region& region, int64_t items) {
  for (int64_t i = 0; i < items; ++i) {
    run(gpu::RmsNorm{view_of(source, i), view_of(target, i), weights_of(op).scale, weights_of(op).norm_bias,
                     static_cast<float>(op.epsilon), op.activation, box_of(region), op.centred});
  }
}

void GpuDevice::upsample(const Op& op, const MapView& source, const MapView& target, const Extent& picture,
                         int64_t items) {
  for (int64_t i = 0; i < items; ++i)
    run(gpu::Upsample{view_of(source, i), view_of(target, i), op.factor.y, op.factor.x, size_of(picture)});
}

void GpuDevice::convolve(const Op& op, const ConvolutionViews& views, const Region& region,
                         const Extent& picture, int64_t items) {
  const KernelShape kernel = kernel_shape(graph_, op);
  const int64_t bytes = gpu::convolution_workspace_bytes(kernel, extent_of(region), sizes_.dtype);
  const std::shared_ptr<void> taken = workspace(bytes);
  const gpu::Box part = box_of(inside(region, picture));
  for (int64_t i = 0; i < items; ++i) {
    const gpu::View target = view_of(views.target, i);
    run(gpu::Convolve{view_of(views.source, i),
                      views.residual != nullptr ? view_of(*views.residual, i) : gpu::View{}, target, part,
                      shape_of(kernel), weights_of(op).kernel, weights_of(op).bias, taken.get(), bytes});
    if (op.activation != Activation::none) run(gpu::Activate{target, op.activation, part});
  }
}

void GpuDevice::fill_outside(const MapView& tile, Edges edges, const Extent& picture, int64_t items) {
  if (inside(tile.region, picture) == tile.region) return;
  for (int64_t i = 0; i < items; ++i) run(gpu::FillOutside{view_of(tile, i), edges, size_of(picture)});
}

void GpuDevice::interpolate(const Op& op, const MapView& source, const MapView& target,
                            const Extent& source_picture, const Region& region, int64_t items) {
  for (int64_t i = 0; i < items; ++i) {
    run(gpu::Interpolate{view_of(source, i), view_of(target, i), op.factor.t, op.factor.y, op.factor.x,
                         size_of(source_picture), box_of(region)});
  }
}

void GpuDevice::unfold_frames(const MapView& first, const MapView& rest, const MapView& target,
                              const Region& region, int64_t items) {
  for (int64_t i = 0; i < items; ++i)
    run(gpu::UnfoldFrames{view_of(first, i), view_of(rest, i), view_of(target, i), box_of(region)});
}

void GpuDevice::gate(const MapView& source, const MapView& target, const Region& region, int64_t items) {
  for (int64_t i = 0; i < items; ++i) run(gpu::Gate{view_of(source, i), view_of(target, i), box_of(region)});
}

void GpuDevice::depth_to_space(const Op& op, const MapView& source, const MapView& target,
                               const Region& region, int64_t items) {
  const auto layout = [&](int64_t number) {
    const DepthFrame frame = depth_frame(op, source.channels, target.channels, number);
    return gpu::DepthLayout{static_cast<int32_t>(frame.first_pixel), static_cast<int32_t>(frame.pixel_step),
                            static_cast<int32_t>(frame.channel_step), static_cast<int32_t>(frame.repeats)};
  };
  for (int64_t i = 0; i < items; ++i) {
    run(gpu::DepthToSpace{view_of(source, i), view_of(target, i), op.factor.t, op.factor.y, op.factor.x,
                          layout(0), layout(1), box_of(region)});
  }
}

void GpuDevice::attend(const Op& op, const MapView& queries, const MapView& keys, const MapView& values,
                       const MapView& target, int64_t items) {
  const auto positions_of = [](const MapView& map) { return map.region.y.length() * map.region.x.length(); };
  // The last frame has the most keys.
  const int64_t key_frames = attended_frames(op.frames, target.region.t.end - 1).length();
  const int64_t bytes = gpu::attention_workspace_bytes(positions_of(queries), key_frames * positions_of(keys),
                                                       values.channels, sizes_.dtype);
  const std::shared_ptr<void> taken = workspace(bytes);
  const auto scale = static_cast<float>(1 / std::sqrt(double(queries.channels)));
  for (int64_t i = 0; i < items; ++i) {
    for (int64_t t = target.region.t.begin; t < target.region.t.end; ++t) {
      const auto frame = static_cast<int32_t>(t);
      const Interval attended = attended_frames(op.frames, t);
      run(gpu::Attend{
          .queries = view_of(queries, i),
          .keys = view_of(keys, i),
          .values = view_of(values, i),
          .target = view_of(target, i),
          .query_frame = frame,
          .target_frame = frame,
          .key_frames = {static_cast<int32_t>(attended.begin), static_cast<int32_t>(attended.end)},
          .interleaved = op.frames == AttentionFrames::interleaved,
          .scale = scale,
          .workspace = taken.get(),
          .workspace_bytes = bytes});
    }
  }
}

void GpuDevice::attend_part(const Op& op, const AttentionPart& part) {
  const Region& target = part.target.region;
  const int64_t queries = target.y.length() * target.x.length(), channels = part.target.channels;
  const gpu::AttentionStateLayout layout = gpu::attention_state_layout(queries, channels);
  const int64_t bytes = gpu::attention_workspace_bytes(queries, most_attended_keys(graph_, op, sizes_.latent),
                                                       channels, sizes_.dtype);
  if (part.first) attending_ = {workspace(layout.end), workspace(bytes)};
  const auto list = [&](int64_t offset) {
    return reinterpret_cast<float*>(static_cast<std::byte*>(attending_.state.get()) + offset);
  };
  run(gpu::Attend{.queries = view_of(part.queries, part.item),
                  .keys = view_of(part.keys, 0),
                  .values = view_of(part.values, 0),
                  .target = view_of(part.target, part.item),
                  .query_frame = static_cast<int32_t>(part.frame),
                  .target_frame = static_cast<int32_t>(part.frame),
                  .key_frames = span_of(part.key_frames),
                  .scale = static_cast<float>(1 / std::sqrt(double(part.queries.channels))),
                  .state = {list(layout.sums), list(layout.largest), list(layout.weights)},
                  .first = part.first,
                  .last = part.last,
                  .workspace = attending_.workspace.get(),
                  .workspace_bytes = bytes});
  if (part.last) attending_ = {};
}

void GpuDevice::attend_linearly(const Op& op, const std::vector<MapView>& inputs, const MapView& target,
                                const Region& region, int64_t items) {
  const int64_t channels = head_channels(graph_, op);
  for (int64_t i = 0; i < items; ++i) {
    const auto* sums = reinterpret_cast<const double*>(state_at(layout_.statistics.at(op.inputs.back()), i));
    int64_t first = 0;
    for (const MapView& input : inputs) {
      const int64_t heads = input.channels / (3 * channels);
      run(gpu::LinearAttention{view_of(input, i), view_of(target, i), box_of(region),
                               static_cast<int32_t>(heads), static_cast<int32_t>(channels),
                               static_cast<int32_t>(first), sums, static_cast<float>(op.epsilon)});
      first += heads * channels;
      sums += heads * channels * (channels + 1);
    }
  }
}

}  // namespace headroom
