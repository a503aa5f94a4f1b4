#pragma once

#include <QObject>
#include <memory>
#include <vector>

#include "gui/model/patient_thread.h"
#include "gui/model/workspace.h"
#include "reports/figures/scaling.h"

namespace headroom::gui {

/// How far the sizes of a question have come.
struct ScalingProgress {
  PlanningQuestion question;
  int64_t most_pixels_across = 0;
  reports::Scaling
      scaling;       ///< planned and untiled, smallest size first; larger ones where they are known already
  size_t done = 0;   ///< of the sizes
  size_t sizes = 0;  ///< up to most_pixels_across
  bool complete = false;
  QString failure;  ///< empty, or why there are no more
};

/// Works out peak against resolution in a thread of its own, size by size. Sizes that were worked out for a
/// question are kept, so that going back to it costs nothing.
class ScalingJob : public QObject {
  Q_OBJECT
 public:
  explicit ScalingJob(QObject* parent = nullptr);
  /// Takes less than a second, whatever size is under way.
  ~ScalingJob() override;
  bool busy() const { return busy_; }

 public Q_SLOTS:
  /// Instead of what is under way. The limit of the question does not matter.
  void start(const headroom::gui::PlanningQuestion& question, qint64 most_pixels_across);
  void cancel();

 Q_SIGNALS:
  /// After every size, the first time with those that are known already.
  void progressed(const headroom::gui::ScalingProgress& progress);
  void busyChanged(bool busy);

 private:
  struct Worker;
  void tell(const ScalingProgress& progress, quint64 number);
  reports::Scaling known(const PlanningQuestion& question) const;
  void keep(const ScalingProgress& progress);
  void setBusy(bool busy);

  std::vector<ScalingProgress> kept_;  ///< the newest last
  quint64 number_ = 0;                 ///< of the newest start
  bool busy_ = false;
  std::shared_ptr<Worker> worker_;
  PatientThread thread_;
};

}  // namespace headroom::gui
