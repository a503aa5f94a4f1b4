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
  /// The view that running work has of its job.
  class Turn {
   public:
    Turn(std::shared_ptr<Shared> shared, quint64 number) : shared_(std::move(shared)), number_(number) {}
    /// False once the result is of no use.
    bool goOn() const;
    /// Calls `tell` in the GUI's thread, unless the result is of no use by then.
    void post(std::function<void()> tell) const;

   private:
    std::shared_ptr<Shared> shared_;
    quint64 number_;
  };

  explicit Job(QObject* parent = nullptr);
  ~Job() override;
  bool busy() const { return busy_; }

  /// `work(turn)` in the thread, then `done(result)` or `failed(message)` here.
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
  /// Nothing that was started before is reported.
  void forget();

 Q_SIGNALS:
  void busyChanged(bool busy);

 private:
  /// Returns what is to be called in the GUI's thread.
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
