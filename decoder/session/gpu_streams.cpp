#include "decoder/session/gpu_streams.h"

#include <algorithm>
#include <string>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/gpu/gpu_device.h"
#include "decoder/gpu/memory/gpu_memory.h"
#include "decoder/schedule/storage.h"

namespace headroom {

/// Memory of the GPU, with the weights at its start.
class GpuStreams::Reservation {
 public:
  Reservation(gpu::Gpu& gpu, const Graph& graph, Dtype dtype, const PinnedWeights& packed, int64_t work,
              int64_t all)
      : work_bytes(work),
        bytes(gpu.reservation_sizes().taken_bytes(all)),
        memory_(gpu, bytes),
        staging(gpu),
        weights(graph, all_operations(graph), dtype, {base(), [](void*) {}}) {
    for (const PinnedWeights::Copy& copy : packed.copies(all_operations(graph), base()))
      gpu.copy(gpu::Stream::compute, copy.to, copy.from, copy.bytes);
  }
  std::byte* base() const { return memory_.base(); }

  const int64_t work_bytes, bytes;

 private:
  const GpuReservation memory_;

 public:
  PinnedStaging staging;
  const GpuWeights weights;
  const HostWeights none = no_host_weights();
};

/// Also throws what StreamLayouts::of() throws.
class GpuStreams::GpuStream final : public OpenStream {
 public:
  GpuStream(const std::shared_ptr<GpuStreams>& streams, const StreamPlan& plan,
            std::shared_ptr<StreamLayouts> layouts)
      : OpenStream(streams, plan), streams_(*streams), layouts_(std::move(layouts)) {}
  ~GpuStream() override {
    const std::lock_guard lock(streams_.mutex_);
    stream_.reset();
    std::erase(streams_.placed_, this);
    leave();
    if (streams_.placed_.empty()) streams_.reservation_.reset();
  }

  bool runs() const { return !stream_->ended(); }
  int64_t offset() const { return offset_; }
  int64_t bytes() const { return plan_.memory.state_bytes; }

  /// Runs from now on with its state at this offset of the reservation. If this fails, the stream has ended.
  void start(int64_t offset, std::span<const std::byte> state) {
    stop();
    offset_ = offset;
    memories_.clear();
    Reservation& reservation = *streams_.reservation_;
    std::byte* const work = reservation.base() + plan_.memory.weights_bytes;
    std::byte* next = reservation.base() + offset;
    const Graph& graph = streams_.model_->graph;
    const auto make_device = [&](const Plan& micro_batch) {
      const StateSlots& slots = layouts_->state(micro_batch);
      memories_.push_back(std::make_shared<GpuMemory>(work, next, slots));
      next += slots.bytes();
      return std::make_unique<BlockDevice>(graph, micro_batch, *memories_.back(), reservation, *layouts_);
    };
    stream_ = std::make_unique<Stream>(*streams_.model_, plan_.plan, plan_.block, make_device);
    if (!state.empty()) stream_->restore(state);
    measure();
  }
  std::vector<std::byte> copy_state() { return stream_->state(); }
  /// Ends the stream, until start().
  void stop() {
    if (stream_) stream_->end();
    measure();
  }

 private:
  /// Looks up the layout of each block before the block runs.
  class BlockDevice final : public GpuDevice {
   public:
    BlockDevice(const Graph& graph, const Plan& plan, GpuMemory& memory, Reservation& reservation,
                StreamLayouts& layouts)
        : GpuDevice(graph, plan, memory, WeightSource{reservation.none, &reservation.weights},
                    reservation.staging),
          plan_(plan),
          memory_(memory),
          layouts_(layouts) {}
    void begin_block(const StreamFrames& before, const BlockFrames& block) override {
      const StreamLayouts::Layout& layout = layouts_.of(plan_, before, block);
      memory_.serve(layout.requests, layout.placement);
    }

   private:
    const Plan& plan_;
    GpuMemory& memory_;
    StreamLayouts& layouts_;
  };

  void run(const ArrayView& input, bool ends, PictureSink& sink) override {
    // Arrays that the caller lends may be in use by work that it has queued.
    streams_.gpu_->wait_for_lender();
    streams_.gpu_->prefer_engines(plan_.plan.engines);
    try {
      stream_->push(input, ends, sink);
    } catch (...) {
      if (stream_->ended()) stream_->end();
      throw;
    }
    measure();
  }
  /// Only one micro-batch works at a time.
  void measure() {
    state_bytes_ = 0;
    int64_t work = 0;
    for (const auto& memory : memories_) {
      state_bytes_ += memory->state_bytes();
      work = std::max(work, memory->most_work_bytes());
    }
    most_state_bytes_ = std::max(most_state_bytes_, state_bytes_);
    measured_peak_bytes_ =
        std::max(measured_peak_bytes_, plan_.memory.weights_bytes + most_state_bytes_ + work);
  }

  GpuStreams& streams_;
  const std::shared_ptr<StreamLayouts> layouts_;
  std::vector<std::shared_ptr<GpuMemory>> memories_;  ///< by micro-batch
  int64_t offset_ = 0, most_state_bytes_ = 0;
};

GpuStreams::GpuStreams(std::shared_ptr<const Model> model, std::shared_ptr<gpu::Gpu> gpu, Dtype dtype,
                       const ParameterSource& source)
    : Streams(std::move(model)), gpu_(std::move(gpu)), dtype_(dtype) {
  const Graph& graph = model_->graph;
  packed_.emplace(*gpu_, graph, all_operations(graph), dtype, host_weights(graph, source), nullptr);
}

GpuStreams::~GpuStreams() = default;

int64_t GpuStreams::weights_bytes() const {
  return open_.front()->memory.weights_bytes;  // the same for each plan
}

int64_t GpuStreams::live_bytes() const {
  const std::lock_guard lock(mutex_);
  return reservation_ ? reservation_->bytes : 0;
}

std::shared_ptr<StreamLayouts> GpuStreams::layouts_of(const StreamPlan& plan) {
  for (const KnownLayouts& each : known_) {
    if (each.block == plan.block && each.plan == plan.plan) return each.layouts;
  }
  auto layouts = std::make_shared<StreamLayouts>(*model_, plan.plan, plan.block);
  const StreamMemory needed = layouts->memory(gpu_->reservation_sizes());
  if (needed.peak_bytes > plan.memory.peak_bytes || needed.state_bytes > plan.memory.state_bytes) {
    throw LimitExceeded("a stream takes " + std::to_string(needed.peak_bytes) +
                        " bytes of the GPU's memory, of which " + std::to_string(needed.state_bytes) +
                        " are state; planned " + std::to_string(plan.memory.peak_bytes) + " and " +
                        std::to_string(plan.memory.state_bytes));
  }
  if (known_.size() == kMostKnown) known_.erase(known_.begin());
  return known_.emplace_back(KnownLayouts{plan.plan, plan.block, std::move(layouts)}).layouts;
}

std::unique_ptr<OpenStream> GpuStreams::open(const StreamPlan& plan, std::span<const std::byte> state) {
  if (plan.plan.request.device != gpu_->kind() || plan.plan.request.dtype != dtype_)
    throw InputError(std::string("expected a plan for ") + name_of(gpu_->kind()) + " in " + name_of(dtype_) +
                     ", found one for " + name_of(plan.plan.request.device) + " in " +
                     name_of(plan.plan.request.dtype));
  std::unique_ptr<GpuStream> stream;
  const std::lock_guard lock(mutex_);
  stream = std::make_unique<GpuStream>(std::static_pointer_cast<GpuStreams>(shared_from_this()), plan,
                                       layouts_of(plan));
  add(stream->plan());
  place(*stream);
  if (!state.empty()) stream->start(stream->offset(), state);
  return stream;
}

std::optional<int64_t> GpuStreams::gap(int64_t bytes) const {
  std::vector<std::pair<int64_t, int64_t>> taken;  // offset and end
  for (const GpuStream* stream : placed_)
    taken.emplace_back(stream->offset(), stream->offset() + stream->bytes());
  std::sort(taken.begin(), taken.end());
  taken.emplace_back(reservation_->bytes, reservation_->bytes);
  int64_t begin = weights_bytes() + reservation_->work_bytes;
  for (const auto& [offset, end] : taken) {
    if (offset - begin >= bytes) return begin;
    begin = std::max(begin, end);
  }
  return std::nullopt;
}

void GpuStreams::place(GpuStream& added) {
  int64_t work = 0, states = 0, reserve = 0;
  for (const StreamPlan* stream : open_) {
    work = std::max(work, stream->memory.work_bytes());
    states += stream->memory.state_bytes;
    reserve = std::max(reserve, stream->memory.reserve_bytes);
  }
  const int64_t limit = limit_bytes() - reserve;
  if (reservation_ && work <= reservation_->work_bytes && reservation_->bytes <= limit) {
    if (const auto offset = gap(added.bytes())) {
      added.start(*offset, {});
      placed_.push_back(&added);
      return;
    }
  }
  // A copy that fails leaves all streams as they are.
  std::vector<MovedStream> moved;
  for (GpuStream* stream : placed_)
    if (stream->runs()) moved.push_back({stream, stream->copy_state()});
  moved.push_back({&added, {}});
  const std::span<const MovedStream> all = moved, running = all.first(all.size() - 1);
  placed_.reserve(all.size());  // so that fill() can note every stream
  const int64_t old_work = reservation_ ? reservation_->work_bytes : 0;
  const int64_t old_bytes = reservation_ ? reservation_->bytes : 0;
  const int64_t needed = weights_bytes() + work + states;
  const int64_t more =
      std::min(added.plan().streams - std::ssize(open_),
               (limit - gpu_->reservation_sizes().taken_bytes(needed)) / std::max<int64_t>(1, added.bytes()));
  clear();
  try {
    fill(work, needed + std::max<int64_t>(0, more) * added.bytes(), all);
  } catch (...) {
    if (!running.empty()) fill(old_work, old_bytes, running);
    throw;
  }
}

void GpuStreams::fill(int64_t work_bytes, int64_t bytes, std::span<const MovedStream> streams) {
  try {
    reservation_ = std::make_unique<Reservation>(*gpu_, model_->graph, dtype_, *packed_, work_bytes, bytes);
    int64_t offset = weights_bytes() + work_bytes;
    for (const auto& [stream, state] : streams) {
      placed_.push_back(stream);
      stream->start(offset, state);
      offset += stream->bytes();
    }
  } catch (...) {
    clear();
    throw;
  }
}

void GpuStreams::clear() {
  for (GpuStream* stream : placed_) stream->stop();
  placed_.clear();
  reservation_.reset();
}

}  // namespace headroom
