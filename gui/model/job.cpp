#include "gui/model/job.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace headroom::gui {
namespace {

constexpr std::chrono::milliseconds kPatience{200};  ///< a window may have several jobs

/// Threads that still ran when their jobs were destroyed. Only the GUI's thread uses this.
class Lingering {
 public:
  ~Lingering() {
    for (std::thread& thread : threads_) thread.join();
  }
  void add(std::thread thread) { threads_.push_back(std::move(thread)); }

 private:
  std::vector<std::thread> threads_;
};

Lingering& lingering() {
  static Lingering threads;
  return threads;
}

}  // namespace

/// The mutex guards all members. Only the GUI's thread changes `owner` and `newest`.
struct Job::Shared {
  std::mutex mutex;
  std::condition_variable wake;
  Job* owner;          ///< null after the job was destroyed
  Work wanted{};       ///< waits for the running work
  quint64 newest = 0;  ///< number of the newest start
};

bool Job::Turn::goOn() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->owner != nullptr && shared_->newest == number_;
}

void Job::Turn::post(std::function<void()> tell) const {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->owner == nullptr || shared_->newest != number_) return;
  QMetaObject::invokeMethod(
      shared_->owner,
      [shared = shared_, number = number_, tell = std::move(tell)] {
        if (shared->newest == number) tell();
      },
      Qt::QueuedConnection);
}

Job::Job(QObject* parent) : QObject(parent), shared_(std::make_shared<Shared>()) {
  shared_->owner = this;
  std::promise<void> ended;
  ended_ = ended.get_future();
  thread_ = std::thread([shared = shared_, ended = std::move(ended)]() mutable {
    run(shared);
    ended.set_value();
  });
}

Job::~Job() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->owner = nullptr;
    shared_->wake.notify_all();
  }
  if (ended_.wait_for(kPatience) == std::future_status::ready) {
    thread_.join();
  } else {
    lingering().add(std::move(thread_));
  }
}

void Job::run(const std::shared_ptr<Shared>& shared) {
  while (true) {
    std::unique_lock lock(shared->mutex);
    shared->wake.wait(lock, [&] { return shared->owner == nullptr || shared->wanted != nullptr; });
    if (shared->owner == nullptr) return;
    const Work work = std::exchange(shared->wanted, nullptr);
    const quint64 number = shared->newest;
    const Turn turn(shared, number);
    lock.unlock();
    const std::function<void()> outcome = work(turn);
    turn.post([shared, number, outcome] {
      outcome();
      // The callback may have started another job.
      if (shared->newest == number) shared->owner->setBusy(false);
    });
  }
}

void Job::begin(Work work) {
  {
    const std::lock_guard lock(shared_->mutex);
    ++shared_->newest;
    shared_->wanted = std::move(work);
    shared_->wake.notify_all();
  }
  setBusy(true);
}

void Job::forget() {
  {
    const std::lock_guard lock(shared_->mutex);
    ++shared_->newest;
    shared_->wanted = nullptr;
  }
  setBusy(false);
}

void Job::setBusy(bool busy) {
  if (busy_ == busy) return;
  busy_ = busy;
  Q_EMIT busyChanged(busy);
}

}  // namespace headroom::gui
