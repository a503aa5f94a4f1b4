#include "decoder/session/environment.h"

#include <algorithm>
#include <cstdlib>

#include "decoder/base/errors.h"
#include "decoder/base/os/process.h"
#include "decoder/base/os/process_memory.h"
#include "decoder/base/text.h"
#include "decoder/cpu/convolution.h"
#include "decoder/cpu/loops/loops.h"
#include "decoder/cpu/threads.h"
#include "decoder/cpu/tile.h"

namespace headroom {

void start_libraries(int threads) {
  use_one_heap();
  start_threads(threads > 0 || std::getenv("OMP_NUM_THREADS") != nullptr ? threads : useful_threads());
  limit_helper_threads(thread_count());
}

void start_threads(int threads) {
  if (threads > 0) set_thread_count(threads);
  require_threads();
  LimitedPool pool(int64_t{64} << 20);
  const Region region{{0, 1}, {1, 33}, {1, 33}};
  const Tile input = make_tile(pool, {{0, 1}, {0, 34}, {0, 34}}, 32, 1);
  std::fill_n(input.values.get(), input.value_count(), 0.0f);
  const KernelShape shape{32, 32, 3, 3};
  const int64_t floats = shape.floats(ConvolutionAlgorithm::winograd);
  const std::shared_ptr<float> kernel = pool.take_floats(floats);
  std::fill_n(kernel.get(), floats, 0.0f);
  for (ConvolutionAlgorithm algorithm : {ConvolutionAlgorithm::direct, ConvolutionAlgorithm::winograd}) {
    convolve(pool, {input.view(),
                    {shape, algorithm, kernel.get(), kernel.get()},
                    make_tile(pool, region, 32, 1).view(),
                    region});
  }
}

std::string library_versions() {
  return std::string("Headroom ") + HEADROOM_VERSION + " for " + kernels::fastest_loops().name;
}

std::string device_name() {
  return processor_name() + ", " + std::to_string(thread_count()) + " threads";
}

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
