#include "planner/python/gpu_decoder.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/session/session.h"
#include "decoder/validator/validator.h"

namespace headroom::python {

GpuDecoder::GpuDecoder(std::shared_ptr<const Model> model, const std::filesystem::path& module,
                       std::unique_ptr<gpu::DeviceMemory> memory)
    : model_(std::move(model)), gpu_(gpu::open_gpu_in(module, std::move(memory))) {}

RunStats GpuDecoder::decode(const Call& call) {
  require_valid(call.plan, *model_, "headroom.plan");
  if (call.link != nullptr) throw InputError("group=: on the CPU only so far");
  const std::lock_guard lock(mutex_);
  const ParameterSource source = [&](const Parameter& parameter, const Interval& elements, float* out) {
    if (call.weights == nullptr) throw std::logic_error("a decode without weights");
    call.weights->read(parameter, elements, out);
  };
  const std::vector<Plan> plans{call.plan};
  const std::unique_ptr<Session> session =
      open_session({*model_, source, plans, call.plan.limit_bytes, 0, call.loading, &packed_}, gpu_.get());
  RunStats stats = session->decode(0, call.latent, call.sink, call.events);
  call.sink.finish();
  stats.peak_bytes = stats.pool_peak_bytes;
  return stats;
}

bool GpuDecoder::has_weights(const Plan& plan) {
  const std::lock_guard lock(mutex_);
  return packed_.contains(plan.request.dtype);
}

void GpuDecoder::drop_weights() {
  const std::lock_guard lock(mutex_);
  packed_.clear();
}

int64_t GpuDecoder::held_bytes() {
  const std::lock_guard lock(mutex_);
  int64_t bytes = 0;
  for (const auto& [dtype, weights] : packed_) bytes += weights.bytes();
  return bytes;
}

}  // namespace headroom::python
