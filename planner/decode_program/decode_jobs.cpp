#include <filesystem>

#include "decoder/base/os/left_behind.h"
#include "decoder/files/latent_file.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/latents/scale.h"
#include "decoder/session/picture_shape.h"
#include "decoder/trace/trace_file.h"
#include "decoder/weights/open_model.h"
#include "planner/decode_program/choose_plan.h"
#include "planner/decode_program/outputs.h"
#include "planner/decode_program/prepared.h"
#include "planner/decode_program/verification.h"

namespace headroom {
namespace {

/// Base name for files beside the output. Drops the slash at the end of a folder.
std::filesystem::path neighbours_name(const std::string& output) {
  const std::filesystem::path path = output;
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

Prepared prepare_decode(const DecodeOptions& options, Notes& notes) {
  Prepared prepared;
  Work& work = *prepared.work;
  // Open the GPU first, because nothing else is useful without it.
  work.gpu = gpu::open_gpu_for(options.device);
  const Model any_frames = open_model(options.model);
  notes.add(upcast_note(any_frames, options));
  const auto weights = [&] { return open_weights(options.model, options.weights, options.random_seed); };
  GivenLatent given = open_latent(any_frames, weights, options.latents.front(), options.latent_scale);
  notes.add(given.note);
  check_output(options.output, picture_shape(any_frames.graph, given.array));
  add_task(options, any_frames, picture_of(any_frames, given.array, options.latents.front()), work);
  work.weights = weights();

  Job job;
  job.input = [latent = std::make_shared<const Array>(std::move(given.array))] { return latent; };
  const std::filesystem::path beside = neighbours_name(options.output);
  remove_left_behind(beside, "verify", ".npy");
  if (options.verify) {
    const auto copy = std::make_shared<VerifiedCopy>(beside);
    job.target.open = [&options, copy](const std::filesystem::path&, const PictureShape& shape) {
      return copy->beside(open_output(options, shape));
    };
    prepared.options.verify = [copy, &notes](const DoneJob& done) {
      return verify(done, copy->file(), notes);
    };
  } else {
    job.target.open = [&options](const std::filesystem::path&, const PictureShape& shape) {
      return open_output(options, shape);
    };
  }
  work.jobs.push_back(std::move(job));
  if (!options.trace_file.empty()) {
    prepared.options.trace = [&options](const RecordedDecode& done) {
      write_trace(options.trace_file, described(done.recorder.finish(), done.plan, done.stats), done.plan,
                  done.graph);
    };
  }
  prepared.options.begun.preview = options.preview_file;
  prepared.subject = options.output;
  return prepared;
}

}  // namespace headroom
