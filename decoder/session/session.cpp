#include "decoder/session/session.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/interpreter/interpreter.h"
#include "decoder/session/cpu_session.h"
#include "decoder/session/gpu_session.h"

namespace headroom {

void check_latent(const Model& model, const Plan& plan, const ArrayView& latent) {
  const Extent extent =
      latent_extent(model, plan.request.width_pixels, plan.request.height_pixels, plan.request.frames);
  const std::vector<int64_t> expected = input_shape(model, extent, plan.request.batch);
  std::vector<int64_t> found = latent.shape;
  if (extent.t == 1 && found.size() == 5 && found[2] == 1) found.erase(found.begin() + 2);
  if (found == expected) return;
  const auto text = [](const std::vector<int64_t>& shape) {
    std::string joined;
    for (int64_t length : shape) joined += (joined.empty() ? "" : "x") + std::to_string(length);
    return joined;
  };
  throw InputError((model.graph.encodes() ? "picture" : "latent") + std::string(": expected shape ") +
                   text(expected) + " as planned, found " + text(latent.shape));
}

RunStats Session::decode(size_t number, const ArrayView& latent, PictureSink& sink, EventSink* events,
                         const RankLink* link) {
  const Plan& plan = plans_[number];
  if (!plan.share.alone() && link == nullptr) throw std::logic_error("one rank's plan without the others");
  check_latent(model_, plan, latent);
  const std::unique_ptr<Run> run = begin(number, events);
  RunStats stats;
  for (const Pass& pass : plan.passes)
    stats.passes.push_back({pass.name, pass.predicted_peak_bytes, 0, pass.predicted_seconds, 0});
  for (int64_t item = 0; item < plan.request.batch; item += plan.micro_batch) {
    const Plan micro_batch = plan_of_micro_batch(plan, item);
    const std::unique_ptr<Device> device = run->device(micro_batch);
    Interpreter interpreter(model_, micro_batch, *device, run->transfers(), run->events(), link);
    interpreter.run(latent, item, sink);
    stats.output_wait_seconds += device->output_wait_seconds();
    for (size_t i = 0; i < plan.passes.size(); ++i) {
      const PassMeasurement& measured = interpreter.measurements()[i];
      stats.passes[i].peak_bytes = std::max(stats.passes[i].peak_bytes, measured.peak_bytes);
      stats.passes[i].seconds += measured.seconds;
    }
  }
  run->wait();
  stats.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - run->start()).count();
  stats.limit_bytes = plan.limit_bytes;
  stats.predicted_peak_bytes = plan.predicted_peak_bytes;
  stats.predicted_seconds = plan.predicted_seconds;
  stats.dtype = name_of(plan.request.dtype);
  stats.tf32 = plan.request.tf32;
  run->finish(stats);
  stats.peak_bytes = stats.pool_peak_bytes + stats.outside_bytes;
  return stats;
}

std::unique_ptr<Session> open_session(const SessionRequest& request, gpu::Gpu* gpu) {
  const auto device = kind_of(gpu);
  for (size_t i = 0; i < request.plans.size(); ++i) {
    if (request.plans[i].request.device == device) continue;
    throw InputError("plans[" + std::to_string(i) + "]: request.device: expected " + name_of(device) +
                     ", as plans[0] has, found " + name_of(request.plans[i].request.device));
  }
  if (gpu != nullptr) return std::make_unique<GpuSession>(request, *gpu);
  return std::make_unique<CpuSession>(request);
}

RunStats decode(const Model& model, const Plan& plan, const ParameterSource& weights, const ArrayView& latent,
                PictureSink& sink, const DecodeHooks& options) {
  const bool on_gpu = !device_record(plan.request.device).is_host;
  const std::unique_ptr<gpu::Gpu> opened =
      options.gpu == nullptr ? gpu::open_gpu_for(plan.request.device) : nullptr;
  check_latent(model, plan, latent);
  const std::vector<Plan> plans{plan};
  gpu::Gpu* gpu = opened ? opened.get() : options.gpu;
  return open_session({model, weights, plans, plan.limit_bytes - plan.reserve_bytes,
                       plan.predicted_peak_bytes - plan.reserve_bytes, options.loading},
                      on_gpu ? gpu : nullptr)
      ->decode(0, latent, sink, options.events, options.link);
}

}  // namespace headroom
