#include "planner/decode_program/stream_run.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/os/process_memory.h"
#include "decoder/base/os/standard_streams.h"
#include "decoder/files/file_sinks.h"
#include "decoder/files/latent_file.h"
#include "decoder/files/npy_blocks.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/graph/geometry.h"
#include "decoder/latents/scale.h"
#include "decoder/session/cpu_streams.h"
#include "decoder/session/environment.h"
#include "decoder/session/gpu_streams.h"
#include "decoder/weights/open_model.h"
#include "planner/answer/stream_plan.h"
#include "planner/decode_program/choose_plan.h"
#include "planner/run/tasks.h"

namespace headroom {
namespace {

constexpr size_t kFrames = 2;  // axis of N×C×T×H×W

struct PlannedStream {
  std::shared_ptr<const Model> model;
  StreamPlan plan;
};

/// Plans a stream of blocks of this shape.
PlannedStream plan_blocks(const StreamOptions& options, std::vector<int64_t> shape, const gpu::Gpu* gpu,
                          Notes& notes) {
  const Model any_frames = open_model(options.model);
  notes.add(upcast_note(any_frames, options));
  require_latent_of(any_frames, shape);
  const int64_t block = shape[kFrames];
  ++shape[kFrames];
  const planner::PictureSize clip = picture_of(any_frames, Array{shape, {}}, "standard input");
  auto model = std::make_shared<const Model>(for_frames(any_frames, clip.extent.t));
  const planner::Question asked =
      planner::stream_question(*model, question_of(options, *model, clip, gpu), block);
  const int64_t limit_bytes =
      options.limit == "auto" ? limit_of_free_memory(gpu) : parse_bytes(options.limit, "--limit");
  StreamPlan plan = plan_stream(planner::Planner(*model, asked), {block, 1, limit_bytes});
  return_free_heap();  // return the search's heap memory, because the limit covers the whole process
  return {std::move(model), std::move(plan)};
}

std::shared_ptr<Streams> streams_of(const PlannedStream& planned, std::shared_ptr<gpu::Gpu> gpu,
                                    const ParameterSource& weights) {
  if (!gpu) return std::make_shared<CpuStreams>(planned.model, weights);
  return std::make_shared<GpuStreams>(planned.model, std::move(gpu), planned.plan.plan.request.dtype,
                                      weights);
}

/// A stream that writes its frames to standard output.
class FramesOut {
 public:
  FramesOut(OpenStream& stream, const FrameRate& rate) : stream_(stream), rate_(rate) {}

  void push(const Array& block, bool ends) {
    std::optional<Y4mSink> sink;
    frames_ += stream_.push(block, ends, [&](const PictureShape& shape) -> PictureSink& {
      return sink.emplace("-", shape, rate_, frames_ == 0 ? Y4mSink::Begins::yes : Y4mSink::Begins::no);
    });
    if (sink) sink->finish();
  }
  int64_t frames() const { return frames_; }

 private:
  OpenStream& stream_;
  const FrameRate rate_;
  int64_t frames_ = 0;
};

}  // namespace

std::string run_stream(const StreamOptions& options, Notes& notes) {
  const std::shared_ptr<gpu::Gpu> gpu = gpu::open_gpu_for(options.device);
  NpyBlocks blocks(kStandardInput, "standard input");
  std::optional<std::vector<int64_t>> shape = blocks.next_shape();
  if (!shape) throw InputError("standard input: expected blocks as numpy.save() writes them, found nothing");
  std::vector<int64_t> expected = *shape;
  if (expected[0] != 1)
    throw InputError(blocks.place() + ": shape: expected 1 clip, found " + std::to_string(expected[0]));
  if (options.block > 0) expected[kFrames] = options.block;
  const PlannedStream planned = plan_blocks(options, expected, gpu.get(), notes);
  const StreamMemory& memory = planned.plan.memory;
  const auto weights = open_weights(options.model, options.weights, options.random_seed);
  start_libraries(options.threads);
  const auto start = std::chrono::steady_clock::now();
  const std::shared_ptr<Streams> streams = streams_of(planned, gpu, weights);
  const std::unique_ptr<OpenStream> stream = streams->open(planned.plan);
  FramesOut out(*stream, options.frame_rate);
  const std::function<ParameterSource()> source = [&] { return ParameterSource(weights); };
  std::optional<AskedScale> scale;  // the first block decides
  for (; shape; shape = blocks.next_shape()) {
    if ((*shape)[kFrames] > expected[kFrames])
      throw InputError(
          blocks.place() + ": latent frames: expected at most " + std::to_string(expected[kFrames]) +
          (options.block > 0 ? ", as --block says" : ", as in the first block") + ", found " +
          std::to_string((*shape)[kFrames]) + "; or give --block " + std::to_string((*shape)[kFrames]));
    (*shape)[kFrames] = expected[kFrames];
    if (*shape != expected) throw InputError(blocks.place() + ": expected the size of the first block");
    Array latent = blocks.read();
    if (!scale) {
      scale = asked_scale(*planned.model, source, options.latent_scale, latent);
      notes.add(scale->note);
      notes.say();
    }
    if (scale->undo) undo_latent_scale(*planned.model, source, latent);
    out.push(latent, false);
  }
  expected[kFrames] = 0;
  out.push({expected, {}}, true);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return std::to_string(out.frames()) + " frames in " + format_seconds(seconds) + ", state " +
         format_bytes(memory.state_bytes) + ", peak " + format_bytes(stream->measured_peak_bytes()) +
         " (predicted " + format_bytes(planned.plan.peak_bytes()) + ", limit " +
         format_bytes(planned.plan.plan.limit_bytes) + ")";
}

}  // namespace headroom
