#include "tests/emulated_gpu/emulator.h"

#include <cstring>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "decoder/base/errors.h"
#include "tests/emulated_gpu/context.h"

namespace headroom::emulated {

thread_local constinit Place place;
Device device;

namespace {

constexpr uint32_t kWarp = 32;
constexpr size_t kGuardBytes = 256;
constexpr size_t kSharedAlignment = 128;
constexpr std::byte kNan{0xff};  // a NaN in every format when repeated
constexpr std::byte kGuard{0xa5};

enum class State { not_begun, ready, in_warp, in_block, done };

struct Copy {
  void* shared = nullptr;
  const void* global = nullptr;  ///< null: writes zeros
  size_t group = 0;
};

struct Thread {
  State state = State::not_begun;
  std::source_location where{};  ///< barrier where the thread waits
  size_t fiber = 0;
  uint32_t exchanges = 0;
  std::vector<Copy> copies{};
  size_t groups = 0;  ///< committed groups of copies
};

struct Warp {
  uint32_t arrived = 0;
  alignas(16) std::byte slots[2][kWarp][kMostExchanged]{};
};

std::string text(const uint3& at) {
  return "(" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) + ")";
}
std::string text(const std::source_location& where) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line());
}
bool same(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

/// Runs blocks one after another.
class BlockRunner {
 public:
  void run(const Grid& grid, const std::function<void()>& body, uint64_t number);

  // For the running thread.
  std::byte* shared() const { return shared_; }
  void meet_block(const std::source_location& where);
  void meet_warp(const std::source_location& where);
  const std::byte* exchange(const void* value, size_t bytes, const std::source_location& where);
  /// `others` is the barrier where the other threads of the block or warp wait.
  [[noreturn]] void fail(const char* what, const std::source_location& where,
                         const std::source_location* others = nullptr);
  Thread& thread() { return threads_[place.number]; }

 private:
  struct Fiber {
    explicit Fiber(void (*entry)()) : context(entry) {}
    Context context;
    bool free = true;
  };
  static void fiber_main();
  void run_on(size_t fiber);
  void resume(uint32_t number);
  /// Not inlined, because a fiber may resume on another CPU thread, and `place` is thread-local.
  [[gnu::noinline]] void stand_at(uint32_t number);
  void run_warp(uint32_t warp);
  bool anyone_ready() const;
  void release_block();
  [[noreturn]] void report_waiting();
  void check_guards();
  uint32_t turn(uint32_t index, uint32_t count) const { return backwards_ ? count - 1 - index : index; }

  Grid grid_;
  const std::function<void()>* body_ = nullptr;
  uint32_t threads_per_block_ = 0;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<size_t> free_fibers_;
  Context caller_;
  std::vector<std::byte> memory_;
  std::byte* shared_ = nullptr;
  size_t shared_bytes_ = 0;
  uint32_t beginning_ = 0;  ///< first thread that a new fiber runs
  uint32_t in_block_ = 0;   ///< threads waiting at a block barrier
  bool backwards_ = false;  ///< threads run in reverse order
  std::string failure_;
};

thread_local BlockRunner* runner = nullptr;
/// Index of the fiber that starts in fiber_main().
thread_local size_t new_fiber = 0;

void BlockRunner::fiber_main() {
  BlockRunner* const self = runner;
  const size_t fiber = new_fiber;
  self->run_on(fiber);
}

/// Runs threads forever. Threads that reach no barrier run one after another on the same fiber.
void BlockRunner::run_on(size_t fiber) {
  Context& context = fibers_[fiber]->context;
  context.begin();
  for (;;) {
    uint32_t number = beginning_;
    for (;;) {
      threads_[number].fiber = fiber;
      threads_[number].state = State::ready;
      (*body_)();
      threads_[number].state = State::done;
      // The next thread of the warp can reuse this fiber.
      const uint32_t next = backwards_ ? number - 1 : number + 1;
      if (next >= threads_per_block_ || next / kWarp != number / kWarp ||
          threads_[next].state != State::not_begun)
        break;
      number = next;
      stand_at(number);
    }
    free_fibers_.push_back(fiber);
    context.switch_to(caller_);
  }
}

void BlockRunner::stand_at(uint32_t number) {
  place.number = number;
  place.thread = {number % grid_.threads.x, number / grid_.threads.x % grid_.threads.y,
                  number / grid_.threads.x / grid_.threads.y};
}

void BlockRunner::resume(uint32_t number) {
  stand_at(number);
  size_t fiber = threads_[number].fiber;
  if (threads_[number].state == State::not_begun) {
    if (free_fibers_.empty()) {
      free_fibers_.push_back(fibers_.size());
      fibers_.push_back(std::make_unique<Fiber>(&BlockRunner::fiber_main));
    }
    fiber = free_fibers_.back();
    free_fibers_.pop_back();
    new_fiber = fiber;
    beginning_ = number;
  }
  caller_.switch_to(fibers_[fiber]->context);
  if (!failure_.empty()) {
    fibers_.clear();  // some fibers are suspended inside a thread
    free_fibers_.clear();
    throw DeviceError(failure_);
  }
}

void BlockRunner::run_warp(uint32_t warp) {
  const uint32_t begin = warp * kWarp, lanes = std::min(kWarp, threads_per_block_ - begin);
  for (bool any = true; any;) {
    any = false;
    for (uint32_t i = 0; i < lanes; ++i) {
      const uint32_t number = begin + turn(i, lanes);
      const State state = threads_[number].state;
      if (state != State::ready && state != State::not_begun) continue;
      resume(number);
      any = true;
    }
  }
}

bool BlockRunner::anyone_ready() const {
  return std::any_of(threads_.begin(), threads_.end(), [](const Thread& thread) {
    return thread.state == State::ready || thread.state == State::not_begun;
  });
}

void BlockRunner::run(const Grid& grid, const std::function<void()>& body, uint64_t number) {
  grid_ = grid;
  body_ = &body;
  failure_.clear();
  threads_per_block_ = grid.threads.x * grid.threads.y * grid.threads.z;
  threads_.assign(threads_per_block_, Thread{});
  warps_.resize((threads_per_block_ + kWarp - 1) / kWarp);
  for (Warp& warp : warps_) warp.arrived = 0;
  in_block_ = 0;
  backwards_ = number % 2 == 1;
  shared_bytes_ = grid.shared_bytes;
  memory_.assign(shared_bytes_ + 2 * kGuardBytes + kSharedAlignment, kGuard);
  const auto begin = reinterpret_cast<uintptr_t>(memory_.data()) + kGuardBytes;
  shared_ = memory_.data() + kGuardBytes + (kSharedAlignment - begin % kSharedAlignment) % kSharedAlignment;
  std::fill_n(shared_, shared_bytes_, kNan);

  runner = this;
  place.threads = grid.threads;
  place.blocks = grid.blocks;
  place.block = {static_cast<uint32_t>(number % grid.blocks.x),
                 static_cast<uint32_t>(number / grid.blocks.x % grid.blocks.y),
                 static_cast<uint32_t>(number / grid.blocks.x / grid.blocks.y)};
  const auto warps = static_cast<uint32_t>(warps_.size());
  while (anyone_ready()) {
    for (uint32_t i = 0; i < warps; ++i) run_warp(turn(i, warps));
  }
  for (const Thread& thread : threads_) {
    if (thread.state != State::done) report_waiting();
  }
  check_guards();
}

void BlockRunner::report_waiting() {
  for (uint32_t number = 0; number < threads_per_block_; ++number) {
    const Thread& thread = threads_[number];
    if (thread.state == State::done) continue;
    stand_at(number);
    fibers_.clear();
    free_fibers_.clear();
    throw DeviceError(std::string("kernel ") + grid_.kernel + ": thread " + text(place.thread) +
                      " of block " + text(place.block) + " waits at " + text(thread.where) +
                      " for threads that do not come");
  }
  throw DeviceError("no thread waits");
}

void BlockRunner::check_guards() {
  const auto untouched = [](const std::byte* from, const std::byte* to) {
    return std::all_of(from, to, [](std::byte value) { return value == kGuard; });
  };
  if (untouched(memory_.data(), shared_) &&
      untouched(shared_ + shared_bytes_, memory_.data() + memory_.size()))
    return;
  throw DeviceError(std::string("kernel ") + grid_.kernel + ": block " + text(place.block) +
                    " writes outside its shared memory");
}

void BlockRunner::fail(const char* what, const std::source_location& where,
                       const std::source_location* others) {
  {
    // Keep no objects with destructors on this stack: it is never unwound.
    failure_ = std::string("kernel ") + grid_.kernel + ": thread " + text(place.thread) + " of block " +
               text(place.block) + " " + what + " at " + text(where);
    if (others != nullptr) failure_ += ", others at " + text(*others);
  }
  fibers_[thread().fiber]->context.switch_to(caller_);
  std::terminate();  // a failed thread is never resumed
}

void BlockRunner::meet_block(const std::source_location& where) {
  Thread& own = thread();
  own.where = where;
  own.state = State::in_block;
  if (++in_block_ == threads_per_block_) {
    for (Thread& other : threads_) {
      if (!same(other.where, where)) fail("meets the block", where, &other.where);
      other.state = State::ready;
    }
    in_block_ = 0;
    backwards_ = !backwards_;  // alternating the order exposes early writes and late reads
    return;
  }
  fibers_[own.fiber]->context.switch_to(caller_);
}

void BlockRunner::meet_warp(const std::source_location& where) {
  Thread& own = thread();
  const uint32_t first = place.number / kWarp * kWarp;
  if (first + kWarp > threads_per_block_) fail("meets a warp of fewer than 32 lanes", where);
  own.where = where;
  own.state = State::in_warp;
  Warp& warp = warps_[first / kWarp];
  if (++warp.arrived == kWarp) {
    for (uint32_t i = first; i < first + kWarp; ++i) {
      if (!same(threads_[i].where, where)) fail("meets its warp", where, &threads_[i].where);
      threads_[i].state = State::ready;
    }
    warp.arrived = 0;
    return;
  }
  fibers_[own.fiber]->context.switch_to(caller_);
}

const std::byte* BlockRunner::exchange(const void* value, size_t bytes, const std::source_location& where) {
  Warp& warp = warps_[place.number / kWarp];
  auto& slots = warp.slots[thread().exchanges++ % 2];
  std::memcpy(slots[place.number % kWarp], value, std::min(bytes, kMostExchanged));
  meet_warp(where);
  return slots[0];
}

/// Pool of unused runners. Their stacks are expensive to create.
class Runners {
 public:
  std::unique_ptr<BlockRunner> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<BlockRunner>();
    std::unique_ptr<BlockRunner> one = std::move(idle_.back());
    idle_.pop_back();
    return one;
  }
  void give(std::unique_ptr<BlockRunner> one) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(one));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<BlockRunner>> idle_;
};

void check_limits(const Grid& grid) {
  const auto [x, y, z] = grid.threads;
  const bool threads = x > 0 && y > 0 && z > 0 && z <= 64 && uint64_t{x} * y * z <= 1024;
  const bool blocks = grid.blocks.x <= 0x7fffffff && grid.blocks.y <= 65535 && grid.blocks.z <= 65535;
  if (threads && blocks && grid.shared_bytes <= device.shared_bytes) return;
  throw DeviceError(std::string("kernel ") + grid.kernel + ": no GPU runs a grid of " +
                    text(uint3{grid.blocks.x, grid.blocks.y, grid.blocks.z}) + " blocks of " +
                    text(uint3{x, y, z}) + " threads with " + std::to_string(grid.shared_bytes) +
                    " bytes of shared memory");
}

/// The order in which blocks start; empty: by number.
std::vector<uint64_t> drawn_order(uint64_t blocks) {
  std::vector<uint64_t> order;
  if (device.block_order == 0) return order;
  order.resize(blocks);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(device.block_order));
  return order;
}

}  // namespace

void run(const Grid& grid, const std::function<void()>& thread) {
  static Runners runners;
  check_limits(grid);
  const uint64_t blocks = uint64_t{grid.blocks.x} * grid.blocks.y * grid.blocks.z;
  const std::vector<uint64_t> order = drawn_order(blocks);
  std::atomic<uint64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    std::unique_ptr<BlockRunner> own = runners.take();
    try {
      for (uint64_t block = next++; block < blocks; block = next++)
        own->run(grid, thread, order.empty() ? block : order[block]);
    } catch (const DeviceError&) {
      next = blocks;
      const std::lock_guard lock(mutex);
      error = std::current_exception();
    }
    runners.give(std::move(own));
  };
  constexpr uint64_t kThreadsWorthAnother = 1 << 13;
  if (blocks > 1 && blocks * grid.threads.x * grid.threads.y * grid.threads.z >= kThreadsWorthAnother) {
    std::thread other(work);
    work();
    other.join();
  } else {
    work();
  }
  if (error) std::rethrow_exception(error);
}

Launcher launcher = [](const Grid& grid, void*, const std::function<void()>& thread) { run(grid, thread); };

std::byte* shared_memory() {
  return runner->shared();
}

void meet_block(const std::source_location& where) {
  runner->meet_block(where);
}

void meet_warp(const std::source_location& where) {
  runner->meet_warp(where);
}

const std::byte* exchange(const void* value, size_t bytes, const std::source_location& where) {
  return runner->exchange(value, bytes, where);
}

void fail(const char* what, const std::source_location& where) {
  runner->fail(what, where);
}

void copy_later(void* shared, const void* global, bool present) {
  Thread& own = runner->thread();
  own.copies.push_back({shared, present ? global : nullptr, own.groups});
  std::memset(shared, static_cast<int>(kNan), 16);
}

void close_copies() {
  ++runner->thread().groups;
}

void wait_for_copies(size_t open_groups) {
  Thread& own = runner->thread();
  const size_t done = own.groups < open_groups ? 0 : own.groups - open_groups;
  const auto later = std::stable_partition(own.copies.begin(), own.copies.end(),
                                           [&](const Copy& copy) { return copy.group < done; });
  for (auto copy = own.copies.begin(); copy != later; ++copy) {
    if (copy->global != nullptr) {
      std::memcpy(copy->shared, copy->global, 16);
    } else {
      std::memset(copy->shared, 0, 16);
    }
  }
  own.copies.erase(own.copies.begin(), later);
}

}  // namespace headroom::emulated
