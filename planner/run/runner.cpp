#include "planner/run/runner.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/os/output_target.h"
#include "decoder/base/os/process_memory.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/gpu/memory/gpu_memory.h"
#include "decoder/plan/requests.h"
#include "decoder/session/environment.h"
#include "decoder/session/picture_shape.h"
#include "decoder/weights/weights_hash.h"
#include "planner/answer/learnt.h"
#include "planner/run/tasks.h"

namespace headroom {
namespace {

/// Runs `body` and rewords errors of these three types. Others pass as they are.
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

/// Runs `body`. Puts `place` before the message of an error, unless the message begins with it, and `done`
/// after it. An empty place changes nothing.
template <typename Body>
auto naming(const std::string& place, const std::string& done, const Body& body) {
  return rewording(
      [&](const std::string& error) {
        if (place.empty()) return error;
        return (error.rfind(place + ":", 0) == 0 ? error : place + ": " + error) + "; " + done;
      },
      body);
}

/// A job's open output. Its errors name the file as the user did.
class OpenTarget {
 public:
  OpenTarget(const Target& target, const PictureShape& shape, ProgressEvents& events) {
    if (!target.folder.empty()) inside_.emplace(target.folder, target.file);
    naming_file([&] {
      output_ = target.open(inside_ ? inside_->path() : target.file, shape);
      sink_.emplace(*output_, events);
    });
  }

  /// Calls `decode` with the output, and adds the time that it waited for the output.
  RunStats take(const std::function<RunStats(PictureSink& output)>& decode) {
    RunStats stats;
    naming_file([&] { stats = decode(*sink_); });
    stats.output_wait_seconds += sink_->waited_seconds();
    return stats;
  }

 private:
  void naming_file(const std::function<void()>& body) const {
    rewording([&](const std::string& error) { return inside_ ? inside_->renamed(error) : error; }, body);
  }

  std::optional<InsideFolder> inside_;
  std::unique_ptr<PictureSink> output_;
  std::optional<ReportedSink> sink_;
};

/// Growth outside the pool after warm-up. Warm-up ends with the first job of the last new shape.
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

/// All jobs by one set of plans, in one session.
class Attempt {
 public:
  Attempt(Work& work, const RunOptions& options, Progress& progress)
      : work_(work), plans_(work.plans), options_(options), progress_(progress) {
    std::vector<const Plan*> in_order;
    for (const Job& job : work.jobs) in_order.push_back(&plans_[job.task]);
    prediction_ = predict(in_order);
    for (const Plan& plan : plans_) {
      limit_bytes_ = std::max(limit_bytes_, plan.limit_bytes);
      reserve_bytes_ = std::max(reserve_bytes_, plan.reserve_bytes);
    }
  }

  /// True once a job has written its output.
  bool has_results() const { return has_results_; }

  RunStats run() {
    const ParameterSource weights = hash_.over(work_.weights);
    tell_begin();
    start_libraries(options_.threads);
    if (work_.is_list) return_free_heap();  // free heap memory first, because it would hide growth
    const auto start = std::chrono::steady_clock::now();
    std::optional<TraceRecorder> recorder;
    if (options_.trace) recorder.emplace(nullptr, options_.trace_bounds);
    // Must outlive the session, which reports loaded weights to it.
    ProgressEvents events(progress_, recorder ? &*recorder : nullptr, &work_.model.graph);
    // Before the session begins: an input that does not fit the plan costs nothing yet, and the output's
    // buffers do not count as the session's growth.
    std::shared_ptr<const Array> input;
    std::optional<OpenTarget> single;
    if (!work_.is_list) {
      const Job& job = work_.jobs.front();
      input = job.input();
      check_latent(work_.model, plans_[job.task], *input);
      single.emplace(job.target, shape_of(job), events);
    }
    std::unique_ptr<Session> session =
        naming(work_.place, "no decode was done", [&] { return opened(weights, events); });
    RunStats stats;
    if (work_.is_list) {
      stats = run_list(*session, events);
      stats.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    } else {
      const Job& job = work_.jobs.front();
      stats = single->take([&](PictureSink& output) {
        if (options_.decode) return options_.decode(std::move(session), *input, output, events);
        RunStats one = session->decode(job.task, *input, output, &events);
        if (!recorder) planner::learn(plans_[job.task], one);  // recording takes time of its own
        session.reset();  // its memory is free before a format encodes the whole picture
        output.finish();
        return one;
      });
      has_results_ = true;
      if (options_.verify)
        stats.verification =
            options_.verify({work_.model, plans_[job.task], weights, *input, work_.gpu.get()});
    }
    stats.weights_hash = hash_.text();
    if (recorder) options_.trace({*recorder, plans_[work_.jobs.front().task], work_.model.graph, stats});
    return stats;
  }

 private:
  PictureShape shape_of(const Job& job) const {
    return picture_shape(work_.model.graph, plans_[job.task].request);
  }

  void tell_begin() {
    RunBegun news = options_.begun;
    const RunBegun first = begun(news.program, plans_.front());
    if (work_.is_list) {
      news.model = first.model;
      news.limit_bytes = limit_bytes_;
      news.predicted_peak_bytes = prediction_.peak_bytes;
      news.predicted_seconds = prediction_.seconds;
      news.decodes = static_cast<int64_t>(work_.jobs.size());
    } else {
      news = first;
      news.output = options_.begun.output;
      news.preview = options_.begun.preview;
    }
    progress_.tell(news);
  }

  std::unique_ptr<Session> opened(const ParameterSource& weights, ProgressEvents& events) {
    if (!work_.gpu) work_.gpu = gpu::open_gpu_for(plans_.front().request.device, gpu_index(work_.device));
    const Environment here = environment_here(work_.gpu.get());
    for (size_t i = 0; i < plans_.size() && !options_.other_environment; ++i) {
      const auto& [origin, question, all_free] = work_.tasks[i];
      check_environment(plans_[i], here, question ? question->profile_file : origin);
    }
    return open_session({work_.model, weights, plans_, limit_bytes_ - reserve_bytes_, prediction_.pool_bytes,
                         [&](double share) { events.loading(share); }},
                        work_.gpu.get());
  }

  RunStats run_list(Session& session, ProgressEvents& events) {
    RunStats total;
    double begin_share = 0;
    int64_t first_held = 0;
    const size_t count = work_.jobs.size();
    for (size_t i = 0; i < count; ++i) {
      const Job& job = work_.jobs[i];
      progress_.tell(DecodeStarted{static_cast<int64_t>(i), static_cast<int64_t>(count), job.name});
      const double share = prediction_.seconds > 0 ? plans_[job.task].predicted_seconds / prediction_.seconds
                                                   : 1 / double(count);
      events.start_part(begin_share, begin_share + share);
      begin_share += share;
      const RunStats stats =
          naming(job.place,
                 std::to_string(i) + " of " + std::to_string(count) + " " + work_.called + " were done", [&] {
                   const std::shared_ptr<const Array> input = job.input();
                   OpenTarget target(job.target, shape_of(job), events);
                   RunStats one = target.take([&](PictureSink& output) {
                     RunStats decoded = session.decode(job.task, *input, output, &events);
                     planner::learn(plans_[job.task], decoded);
                     output.finish();
                     return decoded;
                   });
                   has_results_ = true;
                   return one;
                 });
      return_free_heap();  // otherwise heap memory would accumulate over jobs
      if (i == 0) first_held = session.held_bytes();
      measured_.decodes.push_back({job.name, job.number, job.repetition, static_cast<int32_t>(job.task),
                                   stats.seconds, stats.peak_bytes, stats.pool_peak_bytes, resident_bytes(),
                                   session.outside_growth_bytes(), stats.output_wait_seconds});
      total.output_wait_seconds += stats.output_wait_seconds;
      total.pool_peak_bytes = std::max(total.pool_peak_bytes, stats.pool_peak_bytes);
      total.rss_growth_bytes = std::max(total.rss_growth_bytes, stats.rss_growth_bytes);
      total.device = stats.device;
      total.libraries = stats.libraries;
      total.dtype = stats.dtype;
      total.tf32 = stats.tf32;
      total.threads = stats.threads;
    }
    measured_.resident_before_bytes = session.resident_before_bytes();
    measured_.pool_allocations = session.reservations();
    measured_.pool_growth_bytes = session.held_bytes() - first_held;
    measured_.outside_growth_after_warmup_bytes = growth_after_warmup(measured_.decodes, plans_.size());
    total.limit_bytes = limit_bytes_;
    total.predicted_peak_bytes = prediction_.peak_bytes;
    total.predicted_seconds = prediction_.seconds;
    total.outside_bytes = session.most_outside_bytes(total.rss_growth_bytes);
    total.peak_bytes = total.pool_peak_bytes + total.outside_bytes;
    total.queue = measured_;
    return total;
  }

  Work& work_;
  const std::vector<Plan>& plans_;
  const RunOptions& options_;
  Progress& progress_;
  const WeightsHash hash_;
  QueuePrediction prediction_;
  int64_t limit_bytes_ = 0, reserve_bytes_ = 0;
  QueueStats measured_;
  bool has_results_ = false;
};

}  // namespace

RunStats run(Work& work, const RunOptions& options, Progress& progress) {
  constexpr int kAttempts = 3;
  if (work.jobs.empty()) return {};
  if (work.is_list ? options.decode || options.trace || options.verify : work.jobs.size() != 1)
    throw std::logic_error("options of a single job for a list of jobs, or several jobs that are no list");
  const auto any_task = [&](const auto& holds) {
    return std::any_of(work.tasks.begin(), work.tasks.end(), holds);
  };
  const bool plans_now = any_task([](const Task& task) { return task.question.has_value(); });
  for (int attempts = 1;; ++attempts) {
    if (plans_now) progress.tell(WorkDone{0, attempts == 1 ? "planning" : "planning anew"});
    plan(work);
    Attempt attempt(work, options, progress);
    try {
      return attempt.run();
    } catch (const OutOfGpuMemory& refused) {
      if (attempt.has_results()) throw;
      if (attempts < kAttempts && any_task([](const Task& task) { return task.all_free_memory; })) continue;
      if (work.tasks.size() > 1 || options.decode) throw;
      throw DoesNotFit(std::string(refused.what()) + " (" +
                           next_smaller_plan(work, work.tasks.front(), work.plans.front()) + ")",
                       0);
    }
  }
}

}  // namespace headroom
