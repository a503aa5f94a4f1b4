#include "decoder/gpu/gpu_events.h"

namespace headroom {

GpuEvents::GpuEvents(gpu::Gpu& gpu, const Graph& graph, const void* reserved, int64_t reserved_bytes,
                     EventSink* next)
    : ForwardingEvents(next), gpu_(gpu), graph_(graph), reserved_(reserved), reserved_bytes_(reserved_bytes) {
  ask_driver();
}

void GpuEvents::ask_driver() {
  if (watches_device_memory()) device_memory({reserved_, reserved_bytes_, gpu_.own_bytes()});
}

void GpuEvents::open(const std::string& name) {
  gpu_.open_range(name);
  ++open_ranges_;
}

void GpuEvents::close(int ranges) {
  for (; open_ranges_ > ranges; --open_ranges_) gpu_.close_range();
}

void GpuEvents::pass_started(const Plan& plan, int32_t number) {
  close(0);
  ask_driver();
  const Pass& pass = plan.passes[static_cast<size_t>(number)];
  steps_.clear();
  for (const Step& step : pass.steps)
    steps_.push_back(std::string(name_of(step.kind)) + " " + graph_.tensor(step.tensor).name);
  open(pass.name);
  ForwardingEvents::pass_started(plan, number);
}

void GpuEvents::tile_started(const Plan& plan, int32_t number, int64_t tile, int64_t tiles) {
  ForwardingEvents::tile_started(plan, number, tile, tiles);
  open(steps_.front());
}

void GpuEvents::step_done(const Plan& plan, const StepDone& done) {
  ForwardingEvents::step_done(plan, done);
  close(1);
  const size_t next = static_cast<size_t>(done.step) + 1;
  if (next < steps_.size()) open(steps_[next]);
}

void GpuEvents::end() {
  close(0);
  ask_driver();
}

}  // namespace headroom
