#include "decoder/session/queue_session.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "decoder/cpu/process_memory.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/graph/errors.h"
#include "decoder/session/decode.h"
#include "decoder/session/environment.h"
#include "decoder/session/gpu_session.h"

namespace headroom {
namespace {

PoolSize pool_size(const RequestQueue& queue) {
  int64_t reserve_bytes = 0;
  for (const Plan& plan : queue.plans) reserve_bytes = std::max(reserve_bytes, plan.reserve_bytes);
  return {queue.limit_bytes - reserve_bytes, predict(queue).pool_bytes};
}

class OnCpu final : public QueueSession {
 public:
  OnCpu(const Model& model, const ParameterSource& weights, const RequestQueue& queue,
        const std::function<void(double)>& loading)
      : queue_(queue), session_(model, weights, pool_size(queue), loading) {}

  RunStats decode(size_t plan, const Array& latent, PictureSink& sink, EventSink* events) override {
    return session_.decode(queue_.plans[plan], latent, sink, events);
  }
  int64_t held_bytes() const override { return session_.pool().peak_resident_bytes(); }
  int64_t outside_growth_bytes() const override { return session_.outside_growth_bytes(); }
  int64_t most_outside_bytes(int64_t rss_growth_bytes) const override {
    return std::max<int64_t>(0, rss_growth_bytes - held_bytes());
  }
  int64_t resident_before_bytes() const override { return session_.resident_before_bytes(); }
  int64_t reservations() const override { return Pool::reservations() - reservations_before_; }

 private:
  const int64_t reservations_before_ = Pool::reservations();
  const RequestQueue& queue_;
  DecodeSession session_;
};

class OnGpu final : public QueueSession {
 public:
  OnGpu(std::unique_ptr<gpu::Gpu> gpu, const Model& model, const ParameterSource& weights,
        const RequestQueue& queue, const std::function<void(double)>& loading)
      : gpu_(std::move(gpu)), queue_(queue) {
    int64_t bytes = 0, host_bytes = 0, requests = 0;
    for (size_t i = 0; i < queue.plans.size(); ++i) {
      try {
        dry_runs_.push_back(run_dry_within_limit(model, queue.plans[i]));
      } catch (const LimitExceeded& refused) {
        throw LimitExceeded("plans[" + std::to_string(i) + "]: " + refused.what());
      }
      bytes = std::max(bytes, dry_runs_[i].bytes());
      host_bytes = std::max(host_bytes, dry_runs_[i].host.bytes);
      requests += dry_runs_[i].requests.count();
      if (requests > MemoryRequests::kMost)
        throw InputError("its plans ask for memory more than " + std::to_string(MemoryRequests::kMost) +
                         " times; expected fewer plans, or larger tiles");
    }
    session_.emplace(*gpu_, model, weights, bytes, host_bytes, loading);
  }

  RunStats decode(size_t plan, const Array& latent, PictureSink& sink, EventSink* events) override {
    return session_->decode(queue_.plans[plan], dry_runs_[plan], latent, sink, events);
  }
  int64_t held_bytes() const override { return session_->reserved_bytes(); }
  int64_t outside_growth_bytes() const override { return session_->outside_growth_bytes(); }
  int64_t most_outside_bytes(int64_t) const override { return std::max<int64_t>(0, outside_growth_bytes()); }
  int64_t resident_before_bytes() const override { return resident_before_; }
  int64_t reservations() const override { return 1; }

 private:
  const int64_t resident_before_ = resident_bytes();
  const std::unique_ptr<gpu::Gpu> gpu_;
  const RequestQueue& queue_;
  std::vector<DryRun> dry_runs_;  ///< by plan
  std::optional<GpuSession> session_;
};

}  // namespace

std::unique_ptr<QueueSession> open_session(const Model& model, const ParameterSource& weights,
                                           const RequestQueue& queue, bool other_environment,
                                           const std::function<void(double)>& loading) {
  const DeviceKind device = queue.plans.empty() ? DeviceKind::cpu : queue.plans.front().request.device;
  for (size_t i = 0; i < queue.plans.size(); ++i) {
    if (queue.plans[i].request.device == device) continue;
    throw InputError("plans[" + std::to_string(i) + "]: request.device: expected " + name_of(device) +
                     ", as plans[0] has, found " + name_of(queue.plans[i].request.device));
  }
  std::unique_ptr<gpu::Gpu> gpu;
  if (device == DeviceKind::cuda) gpu = gpu::open_gpu();
  const Environment here = environment_here(gpu.get());
  for (size_t i = 0; i < queue.plans.size() && !other_environment; ++i)
    check_environment(queue.plans[i], here, "plans[" + std::to_string(i) + "]");
  if (gpu) return std::make_unique<OnGpu>(std::move(gpu), model, weights, queue, loading);
  return std::make_unique<OnCpu>(model, weights, queue, loading);
}

}  // namespace headroom
