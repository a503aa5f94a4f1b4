#include "planner/python/gpu_decoder.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/schedule/memory.h"
#include "decoder/session/session.h"
#include "decoder/validator/validator.h"

namespace headroom::python {

GpuDecoder::GpuDecoder(std::shared_ptr<const Model> model, const std::filesystem::path& module, int device,
                       std::unique_ptr<gpu::DeviceMemory> memory)
    : GpuDecoder(std::move(model), gpu::open_gpu_in(module, device, std::move(memory))) {}

GpuDecoder::GpuDecoder(std::shared_ptr<const Model> model, std::unique_ptr<gpu::Gpu> gpu)
    : model_(std::move(model)), folds_(!folded_operations(model_->graph).empty()), gpu_(std::move(gpu)) {}

RunStats GpuDecoder::decode(const Call& call) {
  const std::lock_guard lock(mutex_);
  const Prepared& planned = prepared(call.plan);
  const ParameterSource source = [&](const Parameter& parameter, const Interval& elements, float* out) {
    if (call.weights == nullptr) throw std::logic_error("a decode without weights");
    call.weights->read(parameter, elements, out);
  };
  const bool on_card = call.card != nullptr;
  (on_card ? packed_ : folded_).clear();
  const std::unique_ptr<Session> session = open_session({.model = *model_,
                                                         .weights = source,
                                                         .plans = planned.plans,
                                                         .limit_bytes = call.plan.limit_bytes,
                                                         .loading = call.loading,
                                                         .packed = on_card ? &folded_ : &packed_,
                                                         .card = call.card,
                                                         .prepared = planned.dry,
                                                         .measures_outside = false},
                                                        gpu_.get());
  PictureSink& sink = call.sink();
  // Arrays that the caller lent since the reservation may be in use by work that it has queued.
  gpu_->wait_for_lender();
  RunStats stats = session->decode(0, call.latent, sink, call.events);
  sink.finish();
  stats.peak_bytes = stats.pool_peak_bytes + picture_bytes(model_->graph, call.plan.request);
  return stats;
}

const GpuDecoder::Prepared& GpuDecoder::prepared(const Plan& plan) {
  const auto known = std::find_if(prepared_.begin(), prepared_.end(),
                                  [&](const Prepared& each) { return each.plans[0] == plan; });
  if (known != prepared_.end()) {
    prepared_.splice(prepared_.begin(), prepared_, known);
    return prepared_.front();
  }
  require_valid(plan, *model_, "headroom.plan");
  Prepared made{{plan}, nullptr};
  made.dry = std::make_shared<const PreparedPlans>(prepare(*model_, made.plans, gpu_->reservation_sizes()));
  prepared_.push_front(std::move(made));
  if (prepared_.size() > kMostPrepared) prepared_.pop_back();
  return prepared_.front();
}

bool GpuDecoder::has_weights(const Plan& plan) {
  const std::lock_guard lock(mutex_);
  return packed_.contains(plan.request.dtype);
}

void GpuDecoder::drop_weights() {
  const std::lock_guard lock(mutex_);
  packed_.clear();
  folded_.clear();
}

std::vector<uint64_t> GpuDecoder::checksums(const std::vector<std::span<const std::byte>>& stretches) {
  const std::lock_guard lock(mutex_);
  const auto blocks_of = [](std::span<const std::byte> stretch) {
    const auto bytes = static_cast<int64_t>(stretch.size());
    return static_cast<int32_t>((bytes + gpu::Checksum::kBlockBytes - 1) / gpu::Checksum::kBlockBytes);
  };
  size_t bytes = 0;
  for (const auto& stretch : stretches) bytes += static_cast<size_t>(blocks_of(stretch)) * sizeof(uint64_t);
  if (bytes > sums_bytes_) {
    sums_ = gpu_->pin(static_cast<int64_t>(bytes));
    sums_bytes_ = bytes;
  }
  auto* const sums = reinterpret_cast<uint64_t*>(sums_.get());
  gpu_->wait_for_lender();
  uint64_t* next = sums;
  for (size_t i = 0; i < stretches.size();) {
    gpu::Checksum call;
    call.sums = next;
    for (; i < stretches.size() && call.stretches < gpu::Checksum::kMostStretches; ++i, ++call.stretches) {
      const auto at = static_cast<size_t>(call.stretches);
      call.at[at] = stretches[i].data();
      call.bytes[at] = static_cast<int64_t>(stretches[i].size());
      call.first_block[at + 1] = call.first_block[at] + blocks_of(stretches[i]);
    }
    next += call.first_block[call.stretches];
    gpu_->run(call);
  }
  gpu_->wait_on_host(gpu_->record(gpu::Stream::compute));
  std::vector<uint64_t> all;
  next = sums;
  for (const auto& stretch : stretches) {
    const int32_t blocks = blocks_of(stretch);
    all.push_back(std::accumulate(next, next + blocks, uint64_t{0}));
    next += blocks;
  }
  return all;
}

int64_t GpuDecoder::held_bytes() {
  const std::lock_guard lock(mutex_);
  int64_t bytes = 0;
  for (const PinnedByDtype* held : {&packed_, &folded_}) {
    for (const auto& [dtype, weights] : *held) bytes += weights.bytes();
  }
  return bytes;
}

}  // namespace headroom::python
