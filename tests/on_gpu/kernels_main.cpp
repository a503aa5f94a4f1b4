#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <new>
#include <utility>

#include "decoder/gpu/kernels/kernels.h"
#include "tests/run_tests.h"
#include "tests/support/gpu.h"

// Runs the emulator's kernel tests on this machine's GPU. All test memory is pinned host memory, which
// kernels can access in place.
namespace headroom {
namespace {

/// Allocator over one range, with power-of-two sizes. Before it has a range, it allocates from the heap.
class Arena {
 public:
  void serve(std::byte* begin, size_t bytes) {
    next_ = begin_ = begin;
    end_ = begin + bytes;
  }

  void* allocate(size_t bytes, size_t alignment) {
    if (begin_ == nullptr)
      return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    const std::lock_guard lock(mutex_);
    const size_t kind = kind_of(std::max(bytes, alignment)), size = size_t{1} << kind;
    if (free_[kind] != nullptr) return std::exchange(free_[kind], *static_cast<void**>(free_[kind]));
    const auto unit = std::min<uintptr_t>(size, 4096);
    std::byte* taken = next_ + (unit - reinterpret_cast<uintptr_t>(next_) % unit) % unit;
    if (taken + size > end_) throw std::bad_alloc();
    next_ = taken + size;
    sizes_[static_cast<size_t>(taken - begin_) / kSmallest] = static_cast<uint8_t>(kind);
    return taken;
  }

  void free(void* memory) {
    auto* bytes = static_cast<std::byte*>(memory);
    if (begin_ == nullptr || bytes < begin_ || bytes >= end_) return std::free(memory);
    const std::lock_guard lock(mutex_);
    const size_t kind = sizes_[static_cast<size_t>(bytes - begin_) / kSmallest];
    *static_cast<void**>(memory) = std::exchange(free_[kind], memory);
  }

  static constexpr size_t kBytes = size_t{512} << 20;

 private:
  static constexpr size_t kSmallest = 64;
  static size_t kind_of(size_t bytes) {
    return static_cast<size_t>(std::bit_width(std::max(bytes, kSmallest) - 1));
  }

  std::mutex mutex_;
  std::byte *begin_ = nullptr, *next_ = nullptr, *end_ = nullptr;
  std::array<void*, 64> free_{};
  std::array<uint8_t, kBytes / kSmallest> sizes_{};
};
constinit Arena arena;

constinit gpu::Gpu* running = nullptr;

void run_there(const gpu::Call& call) {
  running->run(call);
  running->wait_on_host(running->record(gpu::Stream::compute));
}

}  // namespace

namespace gpu {

#define HEADROOM_RUNS_THERE(Kind)              \
  void start(const Kind& call, StreamHandle) { \
    run_there(call);                           \
  }
HEADROOM_RUNS_THERE(Gather)
HEADROOM_RUNS_THERE(Copy)
HEADROOM_RUNS_THERE(Add)
HEADROOM_RUNS_THERE(Normalise)
HEADROOM_RUNS_THERE(RmsNorm)
HEADROOM_RUNS_THERE(Upsample)
HEADROOM_RUNS_THERE(DepthToSpace)
HEADROOM_RUNS_THERE(SpaceToDepth)
HEADROOM_RUNS_THERE(Gate)
HEADROOM_RUNS_THERE(Modulate)
HEADROOM_RUNS_THERE(Interpolate)
HEADROOM_RUNS_THERE(UnfoldFrames)
HEADROOM_RUNS_THERE(Activate)
HEADROOM_RUNS_THERE(FillOutside)
HEADROOM_RUNS_THERE(AddMoments)
HEADROOM_RUNS_THERE(Affine)
HEADROOM_RUNS_THERE(AddKeyValueSums)
HEADROOM_RUNS_THERE(LinearAttention)
HEADROOM_RUNS_THERE(Interleave)
HEADROOM_RUNS_THERE(Emit)
HEADROOM_RUNS_THERE(EmitPlanes)
HEADROOM_RUNS_THERE(LoadPlanes)
HEADROOM_RUNS_THERE(CheckFinite)
HEADROOM_RUNS_THERE(Checksum)
HEADROOM_RUNS_THERE(Pack)
#undef HEADROOM_RUNS_THERE

/// Runs our own kernel: a negative workspace excludes all library plans.
void start(const Convolve& call, StreamHandle) {
  Convolve own = call;
  own.workspace_bytes = -1;
  run_there(own);
}
void start(const Attend& call, StreamHandle) {
  Attend own = call;
  own.workspace_bytes = -1;
  run_there(own);
}

}  // namespace gpu
}  // namespace headroom

void* operator new(size_t bytes) {
  return headroom::arena.allocate(bytes, 16);
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return headroom::arena.allocate(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  headroom::arena.free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  headroom::arena.free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  headroom::arena.free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  headroom::arena.free(memory);
}

int main(int argc, char** argv) {
  std::unique_ptr<headroom::gpu::Gpu> gpu;
  const int result = headroom::test::run_tests(argc, argv, [&gpu] {
    std::string why;
    gpu = headroom::test::gpu_if_any(why);
    if (!gpu) {
      std::cout << why << std::endl;
      return false;
    }
    headroom::running = gpu.get();
    headroom::arena.serve(gpu->reserve_host(headroom::Arena::kBytes), headroom::Arena::kBytes);
    return true;
  });
  std::cout << std::flush;
  std::_Exit(result);  // skip destructors: objects still live in the GPU's pinned memory
}
