#include "decoder/gpu/gpu_device.h"

#include <array>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/gpu/calls/plain_view.h"
#include "decoder/gpu/transfers/device_arrays.h"
#include "decoder/graph/geometry.h"
#include "decoder/interpreter/pixels.h"
#include "decoder/schedule/gpu_layout.h"
#include "decoder/schedule/storage.h"

namespace headroom {
namespace {

/// host_weights() leaves this shift out of the last convolution's bias.
float shift_of_picture(const Graph& graph) {
  const Op* last = graph.output() == TensorId{-1} ? nullptr : graph.producer(graph.output());
  return last == nullptr ? 0 : static_cast<float>(last->convolution.shift);
}

}  // namespace

GpuDevice::GpuDevice(const Graph& graph, const Plan& plan, GpuMemory& memory, const WeightSource& weights,
                     PinnedStaging& staging)
    : steps_{.graph = graph,
             .sizes = sizes_of(graph, plan),
             .memory = memory,
             .gpu = staging.gpu(),
             .layout = gpu::state_layout(graph, sizes_of(graph, plan)),
             .weights = weights.resident},
      plan_(plan),
      weights_(weights),
      staging_(staging),
      copies_(staging),
      output_(steps_.gpu, staging.output(), shift_of_picture(graph)) {
  if (steps_.layout.bytes == 0) return;
  steps_.state = memory.allocate_state({.owner = StateOwner::device}, steps_.layout.bytes);
  if (const int64_t bytes = steps_.layout.bytes - steps_.layout.counters_offset; bytes > 0)
    steps_.gpu.clear(steps_.counters(), bytes);
}

/// A copy of weights may still run when a decode ends early. The next user of the memory works on the compute
/// stream, so that stream waits for the copy.
GpuDevice::~GpuDevice() {
  if (!next_weights_) return;
  try {
    steps_.gpu.wait(gpu::Stream::compute, *next_weights_);
  } catch (...) {
    // The error that ended the decode is already reported.
  }
}

std::shared_ptr<void> GpuDevice::allocate(int64_t bytes, const InSeries& series) {
  return steps_.memory.allocate_block(bytes, series);
}

DeviceTile GpuDevice::make_tile(const Region& region, int64_t channels, int64_t items) {
  bring_next_weights();
  return tile_of(region, channels, items,
                 [&](int64_t, int64_t bytes) { return steps_.memory.allocate(bytes); });
}

DeviceTile GpuDevice::make_state_tile(const StatePlace& place, const Region& region, int64_t channels,
                                      int64_t items) {
  return tile_of(region, channels, items, [&](int64_t item, int64_t bytes) {
    StatePlace of_item = place;
    of_item.item = item;
    return allocate_state(of_item, bytes);
  });
}

template <typename Allocate>
DeviceTile GpuDevice::tile_of(const Region& region, int64_t channels, int64_t items,
                              const Allocate& allocate) {
  DeviceTile tile;
  tile.view = {.region = region,
               .channels = channels,
               .block_rows = region.y.length(),
               .blocks_per_item = 1,
               .blocks = {},
               .dtype = steps_.sizes.dtype};
  const int64_t bytes = positions(extent_of(region)) * channels * bytes_per_element(steps_.sizes.dtype);
  auto memory = std::make_shared<std::vector<std::shared_ptr<void>>>();
  for (int64_t item = 0; item < items; ++item) {
    memory->push_back(allocate(item, bytes));
    tile.view.blocks.push_back(memory->back().get());
  }
  tile.memory = std::move(memory);
  return tile;
}

void GpuDevice::load_latent(const ArrayView& latent, int64_t first_item, const MapView& view, int64_t items) {
  if (latent.device != nullptr) {
    for (int64_t item = 0; item < items; ++item) {
      output_.run_checked(
          gpu::LoadPlanes{planes_of(*latent.device, first_item + item), steps_.view_of(view, item), nullptr},
          [this, given = *latent.device] { require_finite_latent(values_of(given, copies_)); });
    }
    return;
  }
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
    output_.emit(steps_.view_of(source, item), first_item + item, region, layer, sink);
}

void GpuDevice::finish_output() {
  output_.finish();
}

std::map<const void*, void*> GpuDevice::move_blocks() {
  return steps_.memory.move_blocks([&](void* to, const void* from, int64_t bytes) {
    steps_.gpu.copy(gpu::Stream::compute, to, from, bytes);
  });
}

void GpuDevice::begin_pass(size_t number) {
  pass_ = number;
  if (weights_.resident == nullptr) {
    bring_weights(number);
    steps_.weights = &*of_pass_;
  }
  make_affines(plan_.passes[number]);
  bring_next_weights();
}

void GpuDevice::bring_weights(size_t number) {
  const Pass& pass = plan_.passes[number];
  const std::vector<OpId> operations = operations_of(pass);
  const int64_t bytes = pass_weights_bytes(steps_.graph, pass, ConvolutionAlgorithm::direct,
                                           WeightResidency::per_pass, steps_.sizes.storage());
  auto memory = bytes > 0 ? steps_.memory.allocate(bytes) : nullptr;
  if (weights_.card != nullptr) {
    weights_.card->pack(operations, static_cast<std::byte*>(memory.get()), [this](const gpu::Pack& call) {
      output_.run_checked(call, [this] { weights_.card->require_finite(copies_); });
    });
    of_pass_.emplace(steps_.graph, operations, steps_.sizes.dtype, std::move(memory));
    return;
  }
  if (weights_.pinned == nullptr) {
    of_pass_.emplace(steps_.graph, operations, steps_.sizes.dtype, std::move(memory),
                     GpuWeights::Loading{weights_.values, staging_});
    return;
  }
  const gpu::Event there =
      next_weights_ ? *next_weights_ : copy_weights(number, static_cast<std::byte*>(memory.get()));
  next_weights_.reset();
  steps_.gpu.wait(gpu::Stream::compute, there);
  of_pass_.emplace(steps_.graph, operations, steps_.sizes.dtype, std::move(memory));
}

void GpuDevice::bring_next_weights() {
  if (weights_.ahead == nullptr || next_weights_ || pass_ + 1 >= plan_.passes.size()) return;
  const WeightsAhead& next = (*weights_.ahead)[pass_ + 1];
  if (steps_.memory.next_event() >= next.event)
    next_weights_ = copy_weights(pass_ + 1, steps_.memory.base() + next.offset);
}

/// Earlier work may still use the place, so the copy waits for all work queued so far.
gpu::Event GpuDevice::copy_weights(size_t pass, std::byte* to) {
  steps_.gpu.wait(gpu::Stream::from_host, steps_.gpu.record(gpu::Stream::compute));
  for (const PinnedWeights::Copy& copy : weights_.pinned->copies(operations_of(plan_.passes[pass]), to))
    steps_.gpu.copy(gpu::Stream::from_host, copy.to, copy.from, copy.bytes);
  return steps_.gpu.record(gpu::Stream::from_host);
}

void GpuDevice::make_affines(const Pass& pass) {
  for (OpId id : operations_of(pass)) {
    const Op& op = steps_.graph.op(id);
    if (op.kind != OpKind::norm) continue;
    const Op& measured = *steps_.graph.producer(op.inputs[1]);
    const auto sets = static_cast<int32_t>(gpu::statistics_sets(steps_.graph, measured, steps_.sizes));
    const auto channels = static_cast<int32_t>(steps_.graph.tensor(op.output).channels);
    for (int64_t item = 0; item < steps_.sizes.items; ++item) {
      auto* scale = reinterpret_cast<float*>(steps_.state_at(steps_.layout.affines.at(op.output), item));
      steps_.gpu.run(gpu::Affine{reinterpret_cast<const Moments*>(steps_.statistics_of(op.inputs[1], item)),
                                 sets, measured.groups, channels, measured.run_frames, measured.epsilon,
                                 steps_.weights_of(op).scale, steps_.weights_of(op).norm_bias, scale,
                                 scale + int64_t{sets} * channels});
    }
  }
}

void GpuDevice::begin(TensorId id, int64_t items, const Interval& frames) {
  if (steps_.graph.producer(id)->by_frame) steps_.first_frames[id] = frames.begin;
  const gpu::StateLayout::Buffer& buffer = steps_.layout.statistics.at(id);
  steps_.gpu.clear(steps_.state_at(buffer, 0), items * buffer.item_bytes);
}

std::vector<Span> GpuDevice::statistics_spans(const std::vector<TensorId>& ids) const {
  std::vector<Span> spans;
  for (const TensorId id : ids) {
    const gpu::StateLayout::Buffer& buffer = steps_.layout.statistics.at(id);
    for (int64_t item = 0; item < steps_.sizes.items; ++item)
      spans.push_back({steps_.state_at(buffer, item), buffer.own_bytes});
  }
  return spans;
}

std::vector<double> GpuDevice::values(const std::vector<TensorId>& ids) {
  const Message all{0, statistics_spans(ids)};
  std::vector<double> numbers(static_cast<size_t>(bytes_of(all)) / sizeof(double));
  copies_.to_host(all.spans, reinterpret_cast<std::byte*>(numbers.data()));
  return numbers;
}

void GpuDevice::set_values(const std::vector<TensorId>& ids, const std::vector<double>& values) {
  copies_.to_device(reinterpret_cast<const std::byte*>(values.data()), statistics_spans(ids));
}

void GpuDevice::check(TensorId id, const std::string& layer) {
  const gpu::StateLayout::Buffer& buffer = steps_.layout.statistics.at(id);
  output_.check_finite(reinterpret_cast<const double*>(steps_.state_at(buffer, 0)),
                       steps_.sizes.items * buffer.item_bytes / int64_t{sizeof(double)}, layer);
}

void GpuDevice::run(const StepCall& call) {
  static constexpr std::array kRuns{
#define X(kind) &gpu_steps::kind,
      HEADROOM_DEVICE_STEPS(X)
#undef X
  };
  kRuns.at(index(call.kind))(steps_, call);
}

void GpuDevice::fill_outside(const MapView& tile, Edges edges, const Extent& picture, int64_t items) {
  if (inside(tile.region, picture) == tile.region) return;
  for (int64_t i = 0; i < items; ++i)
    steps_.gpu.run(gpu::FillOutside{steps_.view_of(tile, i), edges, size_of(picture)});
}

}  // namespace headroom
