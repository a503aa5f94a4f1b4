#include "planner/decode_program/queue.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "decoder/base/errors.h"
#include "decoder/base/os/inside_folder.h"
#include "decoder/base/os/process_memory.h"
#include "decoder/base/printable.h"
#include "decoder/cli/prepare_outputs.h"
#include "decoder/files/latent_file.h"
#include "decoder/files/picture_sink.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/latents/scale.h"
#include "decoder/plan/requests_file.h"
#include "decoder/session/environment.h"
#include "decoder/session/libraries.h"
#include "decoder/session/picture_shape.h"
#include "decoder/session/progress_events.h"
#include "decoder/session/session.h"
#include "decoder/validator/validator.h"
#include "decoder/weights/weights_hash.h"
#include "planner/decode_program/outputs.h"

namespace headroom {
namespace {

using std::filesystem::path;

/// One decode with the files that it reads and writes.
struct Job {
  QueuedDecode decode;
  std::string latent;
  std::string latent_scale;
  path folder, output;  ///< the output must stay inside `folder`; `output` is relative to it

  std::string file() const { return (folder / output).string(); }
};

/// Reads and validates the queue. All plans share the weights, so the model for the most frames serves all.
RequestQueue read_queue(QueueRun& run) {
  const nlohmann::json document = read_requests_file(run.queue_file);
  const JsonFields fields(document, run.queue_file);
  run.model = for_frames(std::move(run.model), most_frames(planned_requests_from_json(fields)));
  RequestQueue queue = planned_queue_from_json(fields, run.model.graph);
  for (size_t i = 0; i < queue.plans.size(); ++i) {
    require_valid(queue.plans[i], run.model, run.queue_file + ": plans[" + std::to_string(i) + "]");
  }
  return queue;
}

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

/// Prepends a folder to a latent argument, which may end in `.safetensors:key`.
std::string in_folder(const path& folder, const std::string& latent) {
  return (folder / latent).string();
}

/// Runs `body` and rewords its errors, keeping their types.
template <typename Reword, typename Body>
auto rewording(const Reword& reword, const Body& body) {
  try {
    return body();
  } catch (const InputError& error) {
    throw InputError(reword(error.what()));
  } catch (const LimitExceeded& error) {
    throw LimitExceeded(reword(error.what()));
  } catch (const DeviceError& error) {
    throw DeviceError(reword(error.what()));
  }
}

/// Runs `body`. Puts `place` before the message of an error and `done` after it, keeping the type.
template <typename Body>
auto naming(const std::string& place, const std::string& done, const Body& body) {
  return rewording([&](const std::string& error) { return place + ": " + error + "; " + done; }, body);
}

/// True if the path's text leads outside. It does not check links on disk.
bool leaves_its_folder(const path& named) {
  return named.is_absolute() || *named.lexically_normal().begin() == "..";
}

std::vector<Job> jobs_of(const QueueRun& run, const RequestQueue& queue) {
  const path own_folder = path(run.queue_file).parent_path();
  const path outputs = run.output_folder.empty() ? own_folder : path(run.output_folder);
  const LatentsGiven given(queue, run.latents);
  std::vector<Job> jobs;
  for (const QueuedDecode& decode : queue.order) {
    const QueuedRequest& request = queue.requests[static_cast<size_t>(decode.request)];
    if (request.output.empty()) {
      throw InputError(run.queue_file + ": " + place_of(queue, decode) + ": output: missing");
    }
    Job job;
    job.decode = decode;
    job.latent = request.latents.empty() ? given.of(decode)
                                         : in_folder(own_folder, latent_for(request, decode.repetition));
    job.latent_scale = request.latent_scale.empty() ? run.latent_scale : request.latent_scale;
    const path named = path_for(request.output, request, decode.repetition);
    if (leaves_its_folder(named)) {
      throw InputError(run.queue_file + ": " + place_of(queue, decode) + ": output: expected a name inside " +
                       (run.output_folder.empty() ? "the queue file's folder" : "-o") + ", found " +
                       printable(named.string()));
    }
    job.folder = outputs;
    job.output = named;
    const Request& planned = queue.plans[static_cast<size_t>(decode.plan)].request;
    naming(run.queue_file + ": " + place_of(queue, decode) + ": output", "no decode was done", [&] {
      require_inside(job.folder, job.output);
      check_output(job.file(), picture_shape(run.model.graph, planned));
    });
    jobs.push_back(std::move(job));
  }
  return jobs;
}

MadeFolders prepare_files(const QueueRun& run, const RequestQueue& queue, const std::vector<Job>& jobs) {
  std::vector<NamedFile> outputs = run.files_beside, inputs = run.files_read;
  for (const Job& job : jobs) {
    const Request& planned = queue.plans[static_cast<size_t>(job.decode.plan)].request;
    for (NamedFile& file : files_of_output("output", job.file(), picture_shape(run.model.graph, planned)))
      outputs.push_back(std::move(file));
    inputs.push_back({"latent", latent_file_of(job.latent)});
  }
  return prepare_outputs(outputs, inputs, MissingFolders::make);
}

/// Builds the event for the start of the queue, with predicted peak and time.
RunBegun begun(const QueueRun& run, const RequestQueue& queue, const QueuePrediction& prediction) {
  RunBegun news;
  news.program = "headroom-decode";
  news.model = run.model.name;
  news.output = run.output_folder;
  news.limit_bytes = queue.limit_bytes;
  news.predicted_peak_bytes = prediction.peak_bytes;
  news.predicted_seconds = prediction.seconds;
  news.decodes = static_cast<int64_t>(queue.order.size());
  return news;
}

/// Boundaries of the decodes as shares of the queue's predicted time. Decode i runs from element i to i + 1.
std::vector<double> shares_of(const RequestQueue& queue, double predicted_seconds) {
  std::vector<double> shares{0};
  for (size_t i = 0; i < queue.order.size(); ++i) {
    const Plan& plan = queue.plans[static_cast<size_t>(queue.order[i].plan)];
    const double share =
        predicted_seconds > 0 ? plan.predicted_seconds / predicted_seconds : 1 / double(queue.order.size());
    shares.push_back(shares.back() + share);
  }
  return shares;
}

RunStats run_job(const QueueRun& run, const Plan& plan, const Job& job, Session& session,
                 ProgressEvents& events, Notes& notes) {
  const auto [latent, note] = open_latent(
      run.model, [&] { return run.weights; }, job.latent, job.latent_scale);
  if (!note.empty()) notes.add(job.latent + ": " + note);
  const auto sink =
      open_sink(job.output, picture_shape(run.model.graph, plan.request), run.frame_rate, run.quality);
  ReportedSink reported(*sink, events);
  RunStats stats = session.decode(static_cast<size_t>(job.decode.plan), latent, reported, &events);
  stats.output_wait_seconds += reported.waited_seconds();
  reported.finish();
  return stats;
}

/// Growth outside the pool after warm-up. Warm-up ends with the first decode of the last new shape.
int64_t growth_after_warmup(const std::vector<DecodeStats>& decodes, size_t shapes) {
  std::vector<bool> seen(shapes, false);
  size_t warm = 0;
  for (size_t i = 0; i < decodes.size(); ++i) {
    const auto plan = static_cast<size_t>(decodes[i].plan);
    if (!seen[plan]) warm = i;
    seen[plan] = true;
  }
  int64_t growth = 0;
  for (size_t i = warm; i < decodes.size(); ++i) {
    growth = std::max(growth, decodes[i].outside_growth_bytes - decodes[warm].outside_growth_bytes);
  }
  return growth;
}

/// Throws InputError if --device is of another kind than the device of a plan.
void check_planned_device(const QueueRun& run, const RequestQueue& queue) {
  for (const Plan& plan : queue.plans) {
    const DeviceKind device = plan.request.device;
    if (!run.device || device == run.device->kind) continue;
    throw InputError("--device: " + run.queue_file + " is planned for " + name_of(device) + ", found " +
                     text_of(*run.device));
  }
}

}  // namespace

RunStats decode_queue(QueueRun run, Notes& progress) {
  const WeightsHash hash;
  run.weights = hash.over(std::move(run.weights));
  const RequestQueue queue = read_queue(run);
  const std::vector<Job> jobs = jobs_of(run, queue);
  const MadeFolders folders = prepare_files(run, queue, jobs);
  check_planned_device(run, queue);
  const QueuePrediction prediction = predict(queue);

  progress.tell(begun(run, queue, prediction));
  start_libraries(run.threads);
  const std::vector<double> shares = shares_of(queue, prediction.seconds);
  RunStats total;
  QueueStats measured;
  measured.decodes.reserve(jobs.size());
  return_free_heap();  // free heap memory first, because it would hide growth
  const auto start = std::chrono::steady_clock::now();
  // Must outlive the session, which reports loaded weights to it.
  ProgressEvents events(progress, nullptr, &run.model.graph);
  std::unique_ptr<gpu::Gpu> gpu;
  const std::unique_ptr<Session> session = naming(run.queue_file, "no decode was done", [&] {
    const DeviceKind device = queue.plans.empty() ? DeviceKind::cpu : queue.plans.front().request.device;
    gpu = gpu::open_gpu_for(device, gpu_index(run.device));
    const Environment here = environment_here(gpu.get());
    for (size_t i = 0; i < queue.plans.size() && !run.other_environment; ++i)
      check_environment(queue.plans[i], here, "plans[" + std::to_string(i) + "]");
    int64_t reserve_bytes = 0;
    for (const Plan& plan : queue.plans) reserve_bytes = std::max(reserve_bytes, plan.reserve_bytes);
    return open_session({run.model, run.weights, queue.plans, queue.limit_bytes - reserve_bytes,
                         prediction.pool_bytes, [&](double share) { events.loading(share); }},
                        gpu.get());
  });
  int64_t first_held = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    const Plan& plan = queue.plans[static_cast<size_t>(job.decode.plan)];
    const std::string& name = queue.requests[static_cast<size_t>(job.decode.request)].name;
    progress.tell(DecodeStarted{static_cast<int64_t>(i), static_cast<int64_t>(jobs.size()), name});
    events.start_part(shares[i], shares[i + 1]);
    const RunStats stats =
        naming(run.queue_file + ": " + place_of(queue, job.decode),
               std::to_string(i) + " of " + std::to_string(jobs.size()) + " decodes were done", [&] {
                 const InsideFolder inside(job.folder, job.output);
                 Job opened = job;
                 opened.output = inside.path();
                 return rewording([&](const std::string& error) { return inside.renamed(error); },
                                  [&] { return run_job(run, plan, opened, *session, events, progress); });
               });
    return_free_heap();  // otherwise heap memory would accumulate over decodes
    if (i == 0) first_held = session->held_bytes();
    measured.decodes.push_back({name, job.decode.request, job.decode.repetition, job.decode.plan,
                                stats.seconds, stats.peak_bytes, stats.pool_peak_bytes, resident_bytes(),
                                session->outside_growth_bytes(), stats.output_wait_seconds});
    total.output_wait_seconds += stats.output_wait_seconds;
    total.pool_peak_bytes = std::max(total.pool_peak_bytes, stats.pool_peak_bytes);
    total.rss_growth_bytes = std::max(total.rss_growth_bytes, stats.rss_growth_bytes);
    total.device = stats.device;
    total.libraries = stats.libraries;
    total.dtype = stats.dtype;
    total.tf32 = stats.tf32;
    total.threads = stats.threads;
  }
  total.weights_hash = hash.text();
  measured.resident_before_bytes = session->resident_before_bytes();
  measured.pool_allocations = session->reservations();
  measured.pool_growth_bytes = session->held_bytes() - first_held;
  measured.outside_growth_after_warmup_bytes = growth_after_warmup(measured.decodes, queue.plans.size());
  total.limit_bytes = queue.limit_bytes;
  total.predicted_peak_bytes = prediction.peak_bytes;
  total.predicted_seconds = prediction.seconds;
  total.outside_bytes = session->most_outside_bytes(total.rss_growth_bytes);
  total.peak_bytes = total.pool_peak_bytes + total.outside_bytes;
  total.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  total.queue = std::move(measured);
  return total;
}

}  // namespace headroom
