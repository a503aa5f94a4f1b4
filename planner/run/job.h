#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decoder/devices/device_name.h"
#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/graph/model.h"
#include "decoder/weights/parameter_source.h"
#include "planner/answer/question.h"

// A run is data:
//
//     Work ── model, weights, device
//      ├─ Task 0   a plan, and the question that it answers
//      ├─ Task 1
//      ├─ Job 0 ── task, input, target
//      ├─ Job 1 ── …
//
// A decode has one task and one job. A queue and a folder of pictures have a task for each distinct shape. A
// new kind of run makes other jobs; run() stays as it is.
namespace headroom {

/// One or more jobs of the same plan.
struct Task {
  std::string origin;  ///< names the plan in messages, after Work::place: "plan.json", "--limit"
  /// The plan answers it when the run starts. Unset: the plan is given.
  std::optional<planner::Question> question{};
  bool all_free_memory = false;  ///< the question's limit is the memory that is free when it is planned
};

/// Destination of a job's result: a picture, a clip or a latent.
struct Target {
  std::filesystem::path file{};
  /// If set, `file` is a name inside this folder, and no link may lead outside.
  std::filesystem::path folder{};
  std::function<std::unique_ptr<PictureSink>(const std::filesystem::path& file, const PictureShape& shape)>
      open{};
};

/// One decode or encode.
struct Job {
  size_t task = 0;                     ///< index in Work::tasks
  std::string name{};                  ///< for the progress display
  int32_t number = 0, repetition = 0;  ///< numbers of the job in the measurements of a list
  std::string place{};                 ///< begins messages about this job; empty: they stay as they are
  /// Returns the latent or picture. Called again if the run starts anew.
  std::function<std::shared_ptr<const Array>()> input{};
  Target target{};
};

/// The jobs of one process, which share a model, its weights and one reservation of memory.
struct Work {
  Model model{};  ///< of one direction, with the most frames of all jobs
  ParameterSource weights{};
  std::vector<Task> tasks{};
  std::vector<Plan> plans{};  ///< by task; run() makes those that are not given
  std::vector<Job> jobs{};
  bool is_list = false;                ///< report each job, even if there is only one
  std::optional<DeviceName> device{};  ///< the card to take, where there are several
  std::unique_ptr<gpu::Gpu> gpu{};     ///< null: opened if the plans need one
  std::string place{};                 ///< begins messages about the whole run, such as a queue's file
  std::string called = "decodes";      ///< what messages call the jobs
};

}  // namespace headroom
