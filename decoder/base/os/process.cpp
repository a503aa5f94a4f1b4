#include "decoder/base/os/process.h"

#include <pthread.h>
#include <signal.h>

#include <utility>

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

}  // namespace headroom
