#include <string>

#include "decoder/base/errors.h"
#include "tests/air_card/card.h"
#include "tests/emulated_gpu/emulator.h"

// Linked into modules with emulated kernels. Routes their launches through the air card's streams.
namespace headroom::air {
namespace {

void launch(const emulated::Grid& grid, void* stream, const std::function<void()>& thread) {
  const std::string failure = note_launch({grid.kernel,
                                           {grid.blocks.x, grid.blocks.y, grid.blocks.z},
                                           {grid.threads.x, grid.threads.y, grid.threads.z},
                                           grid.shared_bytes,
                                           stream});
  if (!failure.empty()) throw DeviceError(std::string("kernel ") + grid.kernel + ": " + failure);
  enqueue(stream, [grid, thread] { emulated::run(grid, thread); });
}

[[maybe_unused]] const bool installed = [] {
  emulated::launcher = launch;
  emulated::device = {capability().shared_bytes, capability().multiprocessors};
  kernels_run();
  return true;
}();

}  // namespace
}  // namespace headroom::air
