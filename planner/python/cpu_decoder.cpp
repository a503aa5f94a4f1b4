#include "planner/python/cpu_decoder.h"

#include <algorithm>
#include <stdexcept>

#include "decoder/base/os/process_memory.h"
#include "decoder/cpu/checksums.h"
#include "decoder/schedule/memory.h"
#include "decoder/session/environment.h"
#include "decoder/validator/validator.h"

namespace headroom::python {
namespace {

/// Scope guard: runs `f` at scope exit.
template <typename F>
struct AtEnd {
  F f;
  ~AtEnd() { f(); }
};
template <typename F>
AtEnd(F) -> AtEnd<F>;

}  // namespace

CpuDecoder::CpuDecoder(std::shared_ptr<const Model> model)
    : model_(std::move(model)),
      source_([this](const Parameter& parameter, const Interval& elements, float* out) {
        if (weights_ == nullptr) throw std::logic_error("a decode without weights");
        weights_->read(parameter, elements, out);
      }) {}

RunStats CpuDecoder::decode(const Call& call) {
  require_valid(call.plan, *model_, "headroom.plan");
  const std::lock_guard lock(mutex_);
  start_threads(call.threads);
  if (!session_) {
    const SessionRequest request{
        *model_, source_, plans_, physical_bytes(), physical_bytes(), [this](double share) {
          if (loading_) loading_(share);
        }};
    session_.emplace(request);
  }
  plans_ = {call.plan};
  weights_ = call.weights;
  loading_ = call.loading;
  const AtEnd over{[this] {
    weights_ = nullptr;
    loading_ = {};
    session_->trim();
  }};
  session_->limit_to(call.plan.limit_bytes - call.plan.reserve_bytes,
                     call.plan.predicted_peak_bytes - call.plan.reserve_bytes);
  const int64_t before = resident_bytes();
  PictureSink& sink = call.sink();
  RunStats stats = session_->decode(0, call.latent, sink, call.events);
  sink.finish();
  // Other threads of the process allocate and free memory too, so only the pool's peak is held to the limit.
  stats.peak_bytes = stats.pool_peak_bytes + picture_bytes(model_->graph, call.plan.request);
  stats.rss_growth_bytes = std::max<int64_t>(0, peak_resident_bytes() - before);
  return stats;
}

bool CpuDecoder::has_weights(const Plan& plan) {
  const std::lock_guard lock(mutex_);
  return plan.weights == WeightResidency::resident && session_ && session_->has_weights();
}

void CpuDecoder::drop_weights() {
  const std::lock_guard lock(mutex_);
  if (!session_) return;
  session_->drop_weights();
  session_->trim();
}

std::vector<uint64_t> CpuDecoder::checksums(const std::vector<std::span<const std::byte>>& stretches) {
  return headroom::checksums(stretches);
}

int64_t CpuDecoder::held_bytes() {
  const std::lock_guard lock(mutex_);
  return session_ ? session_->pool().live_bytes() : 0;
}

}  // namespace headroom::python
