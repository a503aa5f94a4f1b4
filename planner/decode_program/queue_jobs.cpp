#include <filesystem>
#include <nlohmann/json.hpp>

#include "decoder/base/errors.h"
#include "decoder/base/os/output_target.h"
#include "decoder/base/text.h"
#include "decoder/files/latent_file.h"
#include "decoder/latents/scale.h"
#include "decoder/plan/requests_file.h"
#include "decoder/session/picture_shape.h"
#include "decoder/weights/open_model.h"
#include "planner/decode_program/outputs.h"
#include "planner/decode_program/prepared.h"

namespace headroom {
namespace {

using std::filesystem::path;

/// Assigns the command line's latents to decodes whose requests name none: by request, then by repetition.
class LatentsGiven {
 public:
  LatentsGiven(const RequestQueue& queue, const std::vector<std::string>& given) : given_(given) {
    for (const QueuedRequest& request : queue.requests) {
      first_.push_back(needed_);
      if (request.latents.empty()) needed_ += static_cast<size_t>(request.count);
    }
    if (needed_ == given.size()) return;
    throw InputError("--latent: expected one for each of the " + std::to_string(needed_) +
                     " decodes whose requests name none, found " + std::to_string(given.size()));
  }
  const std::string& of(const QueuedDecode& decode) const {
    return given_[first_[static_cast<size_t>(decode.request)] + static_cast<size_t>(decode.repetition)];
  }

 private:
  const std::vector<std::string>& given_;
  std::vector<size_t> first_;
  size_t needed_ = 0;
};

/// True if the path's text leads outside. It does not check links on disk.
bool leaves_its_folder(const path& named) {
  return named.is_absolute() || *named.lexically_normal().begin() == "..";
}

/// The jobs of a queue, and the files that they read and write.
class QueueJobs {
 public:
  QueueJobs(const DecodeOptions& options, const RequestQueue& queue, Work& work, Notes& notes)
      : options_(options), queue_(queue), work_(work), notes_(notes), given_(queue, options.latents) {
    for (const QueuedDecode& decode : queue.order) add(decode);
  }
  const std::vector<NamedFile>& outputs() const { return outputs_; }
  const std::vector<NamedFile>& inputs() const { return inputs_; }

 private:
  void add(const QueuedDecode& decode) {
    const QueuedRequest& request = queue_.requests[static_cast<size_t>(decode.request)];
    const path own_folder = path(options_.queue_file).parent_path();
    Job job;
    job.task = static_cast<size_t>(decode.plan);
    job.name = request.name;
    job.number = decode.request;
    job.repetition = decode.repetition;
    job.place = options_.queue_file + ": " + place_of(queue_, decode);
    if (request.output.empty()) throw InputError(job.place + ": output: missing");

    // May end in `.safetensors:key`. Relative to the queue's file, unless it is from the command line.
    const std::string latent = request.latents.empty()
                                   ? given_.of(decode)
                                   : (own_folder / latent_for(request, decode.repetition)).string();
    const std::string scale = request.latent_scale.empty() ? options_.latent_scale : request.latent_scale;
    inputs_.push_back({"latent", latent_file_of(latent)});
    job.input = [this_work = &work_, notes = &notes_, latent, scale] {
      const auto weights = [&] { return this_work->weights; };
      auto [array, note] = open_latent(this_work->model, weights, latent, scale);
      if (!note.empty()) notes->add(latent + ": " + note);
      return std::make_shared<const Array>(std::move(array));
    };
    take_target(job, path_for(request.output, request, decode.repetition));
    work_.jobs.push_back(std::move(job));
  }

  void take_target(Job& job, const path& named) {
    if (leaves_its_folder(named)) {
      throw InputError(job.place + ": output: expected a name inside " +
                       (options_.output.empty() ? "the queue file's folder" : "-o") + ", found " +
                       printable(named.string()));
    }
    Target& target = job.target;
    target.file = named;
    target.folder = options_.output.empty() ? path(options_.queue_file).parent_path() : path(options_.output);
    const std::string file = (target.folder / named).string();
    const PictureShape shape = picture_shape(work_.model.graph, work_.plans[job.task].request);
    try {
      require_inside(target.folder, named);
      check_output(file, shape);
    } catch (const InputError& error) {
      throw InputError(job.place + ": output: " + error.what() + "; no decode was done");
    }
    for (NamedFile& written : files_of_output("output", file, shape)) outputs_.push_back(std::move(written));
    target.open = [rate = options_.frame_rate, quality = options_.quality](const path& opened,
                                                                           const PictureShape& of) {
      return open_sink(opened, of, rate, quality);
    };
  }

  const DecodeOptions& options_;
  const RequestQueue& queue_;
  Work& work_;
  Notes& notes_;
  const LatentsGiven given_;
  std::vector<NamedFile> outputs_, inputs_;
};

}  // namespace

Prepared prepare_queue(const DecodeOptions& options, Notes& notes) {
  Prepared prepared;
  Work& work = *prepared.work;
  work.place = options.queue_file;
  work.is_list = true;
  work.device = options.device;
  const Model any_frames = open_model(options.model);
  work.weights = open_weights(options.model, options.weights, options.random_seed);
  // All plans share the weights, so the model for the most frames serves all.
  const nlohmann::json document = read_requests_file(options.queue_file);
  const JsonFields fields(document, options.queue_file);
  work.model = for_frames(any_frames, most_frames(planned_requests_from_json(fields)));
  RequestQueue queue = planned_queue_from_json(fields, work.model.graph);
  work.plans = std::move(queue.plans);
  for (size_t i = 0; i < work.plans.size(); ++i) work.tasks.push_back({"plans[" + std::to_string(i) + "]"});

  const QueueJobs jobs(options, queue, work, notes);
  std::vector<NamedFile> outputs = files_beside(options), inputs = files_read(options);
  outputs.insert(outputs.end(), jobs.outputs().begin(), jobs.outputs().end());
  inputs.insert(inputs.end(), jobs.inputs().begin(), jobs.inputs().end());
  prepared.folders.push_back(prepare_outputs(outputs, inputs, MissingFolders::make));
  for (const Plan& plan : work.plans) check_device(options.device, options.queue_file, plan.request.device);
  prepared.subject = options.queue_file + ": " + std::to_string(work.jobs.size()) + " decodes";
  return prepared;
}

}  // namespace headroom
