#pragma once

#include <QMetaObject>
#include <QObject>
#include <functional>
#include <future>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace headroom::gui {

/// How a thread tells an object of the GUI, which may be gone before the thread is.
class OwnerLink {
 public:
  explicit OwnerLink(QObject& owner) : owner_(&owner) {}
  /// Nothing is reported from here on. In the owner's thread, before the owner goes.
  void cut();
  /// `tell()` in the owner's thread.
  template <typename Tell>
  void post(Tell tell) {
    const std::lock_guard lock(mutex_);
    if (owner_ != nullptr) QMetaObject::invokeMethod(owner_, std::move(tell), Qt::QueuedConnection);
  }

 private:
  std::mutex mutex_;
  QObject* owner_;
};

/// A thread for searches of which some cannot be stopped. Whoever closes a window does not wait for them: the
/// destructor asks for an end and waits for less than a second; a thread that is not done by then goes on by
/// itself, and the program waits for it when it ends. So `run` must own all that it uses.
class PatientThread {
 public:
  explicit PatientThread(std::function<void(const std::stop_token&)> run);
  ~PatientThread();
  void request_stop() { thread_.request_stop(); }
  PatientThread(const PatientThread&) = delete;
  PatientThread& operator=(const PatientThread&) = delete;

 private:
  std::future<void> done_;
  std::jthread thread_;
};

}  // namespace headroom::gui
