#include "profiler/measure/plan_engines.h"

#include <algorithm>

#include "decoder/files/picture_sink.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/session/gpu_session.h"
#include "decoder/session/picture_shape.h"
#include "decoder/weights/random_weights.h"

namespace headroom::profiler {

std::vector<EngineChoice> time_plan_engines(const Model& model, const std::vector<Plan>& plans,
                                            const ParameterSource& weights, gpu::Gpu& gpu) {
  return gpu.time_engines([&] {
    GpuSession session({model, weights, plans}, gpu);
    for (size_t i = 0; i < plans.size(); ++i) {
      const Request& request = plans[i].request;
      const Extent extent = sizes_of(model.graph, plans[i]).latent;
      DiscardingSink sink(picture_shape(model.graph, request));
      session.decode(i, random_latent(input_shape(model, extent, request.batch), 0), sink, nullptr);
    }
  });
}

void add_engine_choices(std::vector<EngineChoice>& all, const std::vector<EngineChoice>& timed) {
  for (const EngineChoice& choice : timed) {
    const auto known = std::find_if(all.begin(), all.end(),
                                    [&](const EngineChoice& one) { return one.problem == choice.problem; });
    if (known == all.end()) {
      all.push_back(choice);
    } else {
      *known = choice;
    }
  }
}

}  // namespace headroom::profiler
