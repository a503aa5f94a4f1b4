#include "gui/model/patient_thread.h"

#include <chrono>
#include <vector>

namespace headroom::gui {
namespace {

constexpr std::chrono::milliseconds kPatience{700};

/// Those that were not done when they were left. Of the GUI's thread.
std::vector<std::jthread>& lingering() {
  static std::vector<std::jthread> threads;
  return threads;
}

}  // namespace

void OwnerLink::cut() {
  const std::lock_guard lock(mutex_);
  owner_ = nullptr;
}

PatientThread::PatientThread(std::function<void(const std::stop_token&)> run) {
  std::promise<void> done;
  done_ = done.get_future();
  thread_ = std::jthread([run = std::move(run), done = std::move(done)](const std::stop_token& stop) mutable {
    run(stop);
    run = nullptr;  // what it owns goes first
    done.set_value();
  });
}

PatientThread::~PatientThread() {
  thread_.request_stop();
  if (done_.wait_for(kPatience) != std::future_status::ready) lingering().push_back(std::move(thread_));
}

}  // namespace headroom::gui
