#pragma once

#include <QObject>
#include <QThreadPool>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace headroom::gui {

/// Work in a thread of its own whose result comes back to the thread of the GUI. Of several starts only the
/// newest is reported; what waits behind it is dropped.
class LatestJob : public QObject {
  Q_OBJECT
 public:
  explicit LatestJob(QObject* parent = nullptr);
  ~LatestJob() override;  ///< waits for what is running

  bool busy() const { return busy_; }

  /// `work()` in the thread, then `done(result)` or `failed(message)` here.
  template <typename Work, typename Done>
  void start(Work work, Done done, std::function<void(const QString&)> failed) {
    const uint64_t number = begin();
    thread_.start([this, number, work = std::move(work), done = std::move(done), failed = std::move(failed)] {
      auto result = std::make_shared<std::optional<std::invoke_result_t<Work>>>();
      QString failure;
      try {
        *result = work();
      } catch (const std::exception& error) {
        failure = QString::fromUtf8(error.what());
      }
      tell(number, [result, failure, done, failed] {
        if (*result) {
          done(**result);
        } else {
          failed(failure);
        }
      });
    });
  }
  /// Nothing that was started before is reported.
  void forget();

 Q_SIGNALS:
  void busyChanged(bool busy);

 private:
  uint64_t begin();
  void tell(uint64_t number, std::function<void()> outcome);
  void setBusy(bool busy);
  QThreadPool thread_;
  uint64_t newest_ = 0;
  bool busy_ = false;
};

}  // namespace headroom::gui
