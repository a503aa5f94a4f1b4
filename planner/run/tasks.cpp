#include "planner/run/tasks.h"

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/os/process_memory.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/gpu/memory/gpu_memory.h"
#include "decoder/validator/validator.h"
#include "planner/answer/planner.h"

namespace headroom {
namespace {

Plan plan_under(int64_t limit_bytes, const Model& model, planner::Question question) {
  question.options.limit_bytes = limit_bytes;
  return planner::Planner(model, std::move(question)).fastest();
}

}  // namespace

int64_t limit_of_free_memory(const gpu::Gpu* gpu) {
  if (gpu != nullptr) return limit_on_card(*gpu);
  if (machine_available_bytes() < 0)
    throw DeviceError("/proc/meminfo: no MemAvailable; give --limit in bytes");
  return automatic_limit_bytes(available_bytes());
}

void plan(Work& work) {
  int64_t free_bytes = 0;  // measured once, because a search leaves memory behind
  for (const Task& task : work.tasks) {
    if (!task.question || !task.all_free_memory) continue;
    if (!work.gpu) work.gpu = gpu::open_gpu_for(task.question->request.device, gpu_index(work.device));
    free_bytes = limit_of_free_memory(work.gpu.get());
    break;
  }
  work.plans.resize(work.tasks.size());
  for (size_t i = 0; i < work.tasks.size(); ++i) {
    Task& task = work.tasks[i];
    if (task.question) {
      const int64_t limit = task.all_free_memory ? free_bytes : task.question->options.limit_bytes;
      work.plans[i] = plan_under(limit, work.model, *task.question);
    }
    require_valid(work.plans[i], work.model,
                  work.place.empty() ? task.origin : work.place + ": " + task.origin);
    // Only a GPU, whose memory other processes take, makes a run plan again.
    if (task.question && device_record(work.plans[i].request.device).is_host) task.question->profile.reset();
  }
  return_free_heap();  // the search's memory, because the limit covers the whole process
}

std::string next_smaller_plan(const Work& work, const Task& task, const Plan& refused) {
  planner::Question question = task.question.value_or(planner::Question{.request = refused.request});
  question.options.host_limit_bytes = refused.host_limit_bytes;
  try {
    const Plan found = plan_under(limit_of_free_memory(work.gpu.get()), work.model, std::move(question));
    return "takes " + format_bytes(found.predicted_peak_bytes) + ", predicted " +
           format_seconds(found.predicted_seconds) + " instead of " +
           format_seconds(refused.predicted_seconds);
  } catch (const std::exception& none) {  // the caller reports the refused plan in any case
    return std::string("found none: ") + none.what();
  }
}

}  // namespace headroom
