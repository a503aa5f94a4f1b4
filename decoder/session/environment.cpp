#include "decoder/session/environment.h"

#include "decoder/base/errors.h"
#include "decoder/base/printable.h"
#include "decoder/session/libraries.h"

namespace headroom {

Environment environment_here(const gpu::Gpu* gpu) {
  if (gpu != nullptr) return {gpu->device(), gpu->libraries()};
  return {device_name(), library_versions()};
}

void check_environment(const Plan& plan, const Environment& here, const std::string& origin) {
  if (plan.environment == Environment{} || plan.environment == here) return;
  const auto text = [](const Environment& e) {
    return printable(e.device) + " (" + printable(e.libraries) + ")";
  };
  throw InputError(origin + ": environment: the plan's costs were measured on " + text(plan.environment) +
                   ", this is " + text(here) +
                   "; plan with a profile of this machine, or give --other-environment");
}

}  // namespace headroom
