#pragma once

#include <functional>
#include <memory>
#include <string>

#include "decoder/base/progress/progress.h"
#include "decoder/plan/stats.h"
#include "decoder/session/progress_events.h"
#include "decoder/session/session.h"
#include "decoder/session/trace_recorder.h"
#include "planner/run/job.h"

namespace headroom {

/// A job that is done, and all that it ran with.
struct DoneJob {
  const Model& model;
  const Plan& plan;
  const ParameterSource& weights;
  const Array& input;
  gpu::Gpu* gpu;  ///< null on the CPU
};

/// Names, files and checks of a run.
struct RunOptions {
  RunBegun begun{};                ///< program, output and preview; run() adds the rest
  int threads = 0;                 ///< 0: the machine's
  bool other_environment = false;  ///< accept plans whose costs were measured elsewhere

  // Only for a single job:
  /// Decodes, ends the session and finishes the output. Empty: this process makes the whole output.
  std::function<RunStats(std::unique_ptr<Session> session, const Array& input, PictureSink& output,
                         ProgressEvents& events)>
      decode{};
  /// Takes the recording once the job is done. Empty: nothing is recorded.
  std::function<void(const RecordedDecode& recorded)> trace{};
  TraceBounds trace_bounds{};
  /// Called once the job's memory is free again.
  std::function<Verification(const DoneJob& done)> verify{};
};

/// Runs all jobs in order. It plans, validates and checks all that it can before the first job. If a job
/// fails, the run ends; earlier results stay. Other processes may take GPU memory after planning: tasks that
/// take all free memory are then planned again, up to three times in total.
///
/// Returns the measurements of the job. For a list of jobs: totals, and each job in RunStats::queue. Empty if
/// there are no jobs. Throws InputError, DoesNotFit, LimitExceeded, DeviceError.
RunStats run(Work& work, const RunOptions& options, Progress& progress);

}  // namespace headroom
