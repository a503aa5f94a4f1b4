#include "gui/model/patient_job.h"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace headroom::gui {

/// What the thread does. What it shares with that of the GUI is under the mutex.
struct PatientJob::Worker {
  explicit Worker(PatientJob& owner) : link(owner), job(&owner) {}

  /// Null: nothing.
  void want(Work next, quint64 new_number) {
    const std::lock_guard lock(mutex);
    wanted = std::move(next);
    number = new_number;
    wake.notify_all();
  }

  void run(const std::stop_token& stop) {
    while (true) {
      std::unique_lock lock(mutex);
      wake.wait(lock, stop, [&] { return wanted != nullptr; });
      if (stop.stop_requested()) return;
      const Work work = std::exchange(wanted, nullptr);
      const quint64 own = number;
      lock.unlock();
      const auto outcome = work([&] {
        const std::lock_guard now(mutex);
        return number == own && !stop.stop_requested();
      });
      link.post([to = job, outcome, own] { to->tell(outcome, own); });
    }
  }

  OwnerLink link;

 private:
  PatientJob* const job;  ///< only where the link posts
  std::mutex mutex;
  std::condition_variable_any wake;
  Work wanted;  ///< waits
  quint64 number = 0;
};

PatientJob::PatientJob(QObject* parent)
    : QObject(parent),
      worker_(std::make_shared<Worker>(*this)),
      thread_([worker = worker_](const std::stop_token& stop) { worker->run(stop); }) {}

PatientJob::~PatientJob() {
  worker_->link.cut();
}

void PatientJob::start(Work work) {
  worker_->want(std::move(work), ++number_);
  setBusy(true);
}

void PatientJob::forget() {
  worker_->want(nullptr, ++number_);
  setBusy(false);
}

void PatientJob::tell(const std::function<void()>& outcome, quint64 number) {
  if (number != number_) return;
  outcome();
  if (number == number_) setBusy(false);  // it may have started the next
}

void PatientJob::setBusy(bool busy) {
  if (busy_ == busy) return;
  busy_ = busy;
  Q_EMIT busyChanged(busy);
}

}  // namespace headroom::gui
