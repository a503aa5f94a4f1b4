#include "planner/run/tasks.h"

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/os/free_memory.h"
#include "decoder/base/os/process_memory.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/gpu/memory/gpu_reservation.h"
#include "decoder/validator/validator.h"
#include "planner/answer/planner.h"

namespace headroom {
namespace {

/// `free_bytes` is the limit of tasks that take all free memory.
Plan plan_of(const Work& work, const Task& task, int64_t free_bytes) {
  if (const Plan* given = std::get_if<Plan>(&task.wanted)) return *given;
  planner::Question question = std::get<planner::Question>(task.wanted);
  if (task.all_free_memory) question.options.limit_bytes = free_bytes;
  return planner::Planner(work.model, std::move(question)).fastest();
}

}  // namespace

int64_t limit_of_free_memory(const gpu::Gpu* gpu) {
  if (gpu != nullptr) return limit_on_card(*gpu);
  if (machine_available_bytes() < 0)
    throw DeviceError("/proc/meminfo: no MemAvailable; give --limit in bytes");
  return automatic_limit_bytes(available_bytes());
}

std::vector<Plan> plans_of(Work& work) {
  std::vector<Plan> plans;
  int64_t free_bytes = 0;  // measured once, because a search leaves memory behind
  for (const Task& task : work.tasks) {
    const auto* question = std::get_if<planner::Question>(&task.wanted);
    if (question == nullptr || !task.all_free_memory) continue;
    if (!work.gpu) work.gpu = gpu::open_gpu_for(question->request.device, gpu_index(work.device));
    free_bytes = limit_of_free_memory(work.gpu.get());
    break;
  }
  for (const Task& task : work.tasks) {
    plans.push_back(plan_of(work, task, free_bytes));
    require_valid(plans.back(), work.model,
                  work.place.empty() ? task.origin : work.place + ": " + task.origin);
  }
  return_free_heap();  // the search's memory, because the limit covers the whole process
  return plans;
}

std::string next_smaller_plan(const Work& work, const Task& task, const Plan& refused) {
  Task smaller{planner::Question{.request = refused.request}, task.origin, true};
  if (const auto* asked = std::get_if<planner::Question>(&task.wanted)) smaller.wanted = *asked;
  std::get<planner::Question>(smaller.wanted).options.host_limit_bytes = refused.host_limit_bytes;
  try {
    const Plan found = plan_of(work, smaller, limit_of_free_memory(work.gpu.get()));
    return "takes " + format_bytes(found.predicted_peak_bytes) + ", predicted " +
           format_seconds(found.predicted_seconds) + " instead of " +
           format_seconds(refused.predicted_seconds);
  } catch (const std::exception& none) {  // the caller reports the refused plan in any case
    return std::string("found none: ") + none.what();
  }
}

}  // namespace headroom
