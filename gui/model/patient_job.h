#pragma once

#include <QObject>
#include <functional>
#include <memory>

#include "gui/model/patient_thread.h"

namespace headroom::gui {

/// Searches of which some cannot be stopped, the newest alone: nobody who closes a window waits for them.
class PatientJob : public QObject {
  Q_OBJECT
 public:
  /// In the thread; what it returns is called in that of the GUI. `go_on` says false once its result is of no
  /// use. It owns all that it uses and throws nothing.
  using Work = std::function<std::function<void()>(const std::function<bool()>& go_on)>;

  explicit PatientJob(QObject* parent = nullptr);
  ~PatientJob() override;  ///< takes less than a second
  bool busy() const { return busy_; }
  void start(Work work);
  /// Nothing that was started before is reported.
  void forget();

 Q_SIGNALS:
  void busyChanged(bool busy);

 private:
  struct Worker;
  void tell(const std::function<void()>& outcome, quint64 number);
  void setBusy(bool busy);
  quint64 number_ = 0;  ///< of the newest start
  bool busy_ = false;
  std::shared_ptr<Worker> worker_;
  PatientThread thread_;
};

}  // namespace headroom::gui
