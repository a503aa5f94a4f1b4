#pragma once

#include <QObject>
#include <functional>
#include <future>
#include <memory>
#include <thread>

namespace headroom::gui {

/// Runs work in its own thread and returns the result to the GUI's thread. Only the newest start is reported.
/// A newer start replaces one that still waits behind running work.
///
/// Some searches cannot be stopped, and closing a window must not wait for them. So the destructor waits for
/// less than a second. A thread that is not done by then keeps running, and the program joins it at exit. So
/// work must own everything that it uses.
class Job : public QObject {
  Q_OBJECT
  struct Shared;

 public:
  /// Handle through which running work reaches its job.
  class Turn {
   public:
    Turn(std::shared_ptr<Shared> shared, quint64 number) : shared_(std::move(shared)), number_(number) {}
    /// False once the result is no longer wanted. Work should then return early.
    bool goOn() const;
    /// Calls `tell` in the GUI's thread, unless the result is no longer wanted by then.
    void post(std::function<void()> tell) const;

   private:
    std::shared_ptr<Shared> shared_;
    quint64 number_;
  };

  explicit Job(QObject* parent = nullptr);
  ~Job() override;
  bool busy() const { return busy_; }

  /// Runs `work(turn)` in the worker thread. Then calls `done(result)` or `failed(message)` in the GUI's
  /// thread.
  template <typename Work, typename Done>
  void start(Work work, Done done, std::function<void(const QString&)> failed) {
    begin([work = std::move(work), done = std::move(done),
           failed = std::move(failed)](const Turn& turn) -> std::function<void()> {
      try {
        return [done, result = work(turn)] { done(result); };
      } catch (const std::exception& error) {
        return [failed, text = QString::fromUtf8(error.what())] { failed(text); };
      }
    });
  }
  /// Drops the results of all earlier starts.
  void forget();

 Q_SIGNALS:
  void busyChanged(bool busy);

 private:
  /// Runs in the worker thread. Returns a function for the GUI's thread to call.
  using Work = std::function<std::function<void()>(const Turn& turn)>;
  static void run(const std::shared_ptr<Shared>& shared);
  void begin(Work work);
  void setBusy(bool busy);

  std::shared_ptr<Shared> shared_;
  bool busy_ = false;
  std::future<void> ended_;
  std::thread thread_;
};

}  // namespace headroom::gui
