#include "decoder/session/cpu_streams.h"

#include <algorithm>
#include <string>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/os/process_memory.h"
#include "decoder/cpu/cpu_device.h"
#include "decoder/schedule/storage.h"

namespace headroom {
namespace {

/// Resident weights are read when they are packed.
const ParameterSource& no_source() {
  static const ParameterSource kNone;
  return kNone;
}

}  // namespace

class CpuStreams::CpuStream final : public OpenStream {
 public:
  CpuStream(const std::shared_ptr<CpuStreams>& streams, const StreamPlan& plan)
      : OpenStream(streams, plan),
        streams_(*streams),
        weights_(streams_.pool_, streams_.model_->graph, plan_.plan, no_source(), &*streams_.weights_) {
    const auto make_device = [this](const Plan& micro_batch) {
      const Graph& graph = streams_.model_->graph;
      return std::make_unique<CpuDevice>(graph, sizes_of(graph, micro_batch), weights_, streams_.pool_);
    };
    stream_ = std::make_unique<Stream>(*streams_.model_, plan_.plan, plan_.block, make_device);
  }
  ~CpuStream() override {
    const std::lock_guard lock(streams_.mutex_);
    stream_.reset();
    leave();
    if (streams_.open_.empty()) streams_.pool_.trim();
  }

  void restore(std::span<const std::byte> state) {
    const int64_t before = streams_.pool_.live_bytes();
    streams_.pool_.limit_to(streams_.pool_limit_bytes());
    stream_->restore(state);
    state_bytes_ = streams_.pool_.live_bytes() - before;
  }

 private:
  void run(const ArrayView& input, bool ends, PictureSink& sink) override {
    LimitedPool& pool = streams_.pool_;
    const int64_t others = pool.live_bytes() - plan_.memory.weights_bytes - state_bytes_;
    pool.limit_to(streams_.pool_limit_bytes());
    pool.hold_resident(others + plan_.memory.peak_bytes);
    pool.restart_peak();
    stream_->push(input, ends, sink);
    measured_peak_bytes_ = std::max(measured_peak_bytes_, pool.peak_bytes() - others);
    state_bytes_ = pool.live_bytes() - others - plan_.memory.weights_bytes;
  }

  CpuStreams& streams_;
  PlannedWeights weights_;
};

CpuStreams::CpuStreams(std::shared_ptr<const Model> model, const ParameterSource& source)
    : Streams(std::move(model)), pool_(physical_bytes()) {
  const Graph& graph = model_->graph;
  weights_.emplace(pool_, graph, all_operations(graph), ConvolutionAlgorithm::direct, source);
}

int64_t CpuStreams::pool_limit_bytes() const {
  int64_t reserve = 0;
  for (const StreamPlan* stream : open_) reserve = std::max(reserve, stream->memory.reserve_bytes);
  return std::min(physical_bytes(), limit_bytes()) - reserve;
}

std::unique_ptr<OpenStream> CpuStreams::open(const StreamPlan& plan, std::span<const std::byte> state) {
  if (!device_record(plan.plan.request.device).is_host)
    throw InputError(std::string("expected a plan for cpu, found one for ") +
                     name_of(plan.plan.request.device));
  auto stream = std::make_unique<CpuStream>(std::static_pointer_cast<CpuStreams>(shared_from_this()), plan);
  const std::lock_guard lock(mutex_);
  add(stream->plan());
  if (!state.empty()) stream->restore(state);
  return stream;
}

}  // namespace headroom
