#include "profiler/program/record_plan.h"

#include "decoder/files/latent_file.h"
#include "decoder/files/random_weights.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/validator.h"
#include "decoder/program/progress_events.h"
#include "decoder/program/write_traces.h"
#include "decoder/runtime/decode.h"
#include "decoder/runtime/trace_recorder.h"

namespace headroom {

RunStats record_plan(const Model& model, const RecordRequest& request, const ParameterSource& weights,
                     Progress& progress) {
  const Plan plan = read_plan(request.plan_file, model.graph);
  require_valid(plan, model, request.plan_file);
  const Request& decoded = plan.request;
  const Extent extent = latent_extent(model, decoded.width_pixels, decoded.height_pixels, decoded.frames);
  const Array latent = request.latent.empty() ? random_latent(latent_shape(model, extent, decoded.batch), 0)
                                              : read_latent(request.latent);
  RunBegun news = begun("headroom-profile", plan);
  news.output = request.trace_file.empty() ? request.chrome_file : request.trace_file;
  progress.tell(news);
  start_libraries(request.threads);
  DiscardingSink sink({decoded.batch, model.graph.tensor(model.graph.output()).channels, decoded.frames,
                       decoded.height_pixels, decoded.width_pixels});
  TraceRecorder recorder;
  ProgressEvents events(progress, &recorder);
  const RunStats stats =
      decode(model, plan, weights, latent, sink, &events, [&](double share) { events.loading(share); });
  write_traces(recorder.finish(), plan, model, stats, request.trace_file, request.chrome_file);
  return stats;
}

}  // namespace headroom
