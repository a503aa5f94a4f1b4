#include "decoder/base/os/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "decoder/base/os/control_groups.h"

namespace headroom {

std::thread thread_without_signals(std::function<void()> work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(work));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

bool call_in_children(void (*act)()) {
  return pthread_atfork(nullptr, nullptr, act) == 0;
}

bool is_kill_signal(int signal) {
  return signal == SIGKILL;
}

namespace {

std::atomic<int> asked_threads{std::numeric_limits<int>::max()};

}  // namespace

int allowed_processors() {
  // The kernel requires a set at least as large as its own, so try larger ones.
  for (int most = CPU_SETSIZE; most <= (1 << 20); most *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(most));
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(most));
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int error = errno;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (known) return std::max(1, count);
    if (error != EINVAL) break;
  }
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

int useful_threads(int allowed, double quota_processors) {
  const double whole = std::ceil(quota_processors);
  return whole < allowed ? std::max(1, static_cast<int>(whole)) : std::max(1, allowed);
}

int useful_threads() {
  return useful_threads(allowed_processors(),
                        own_control_groups().processors.value_or(std::numeric_limits<double>::infinity()));
}

int helper_threads() {
  static const int useful = useful_threads();
  return std::min(useful, asked_threads.load());
}

void limit_helper_threads(int most) {
  asked_threads = std::max(1, most);
}

ProcessorWaits::~ProcessorWaits() {
  close_all();
}

void ProcessorWaits::close_all() {
  for (int file : files_) close(file);
  files_.clear();
}

void ProcessorWaits::follow() {
  close_all();
  std::error_code unknown;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", unknown)) {
    const int file = open((task.path() / "schedstat").c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) files_.push_back(file);
  }
}

double ProcessorWaits::seconds() const {
  double nanoseconds = 0;
  for (int file : files_) {
    char text[96] = {};
    // Format: time on a processor, time waited, number of time slices.
    if (pread(file, text, sizeof text - 1, 0) <= 0) continue;
    char* waited = nullptr;
    std::strtod(text, &waited);
    nanoseconds += std::strtod(waited, nullptr);
  }
  return nanoseconds * 1e-9;
}

}  // namespace headroom
