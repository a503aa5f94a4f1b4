#include "gui/model/latest_job.h"

#include <QMetaObject>

namespace headroom::gui {

LatestJob::LatestJob(QObject* parent) : QObject(parent) {
  thread_.setMaxThreadCount(1);
}

LatestJob::~LatestJob() {
  thread_.clear();
  thread_.waitForDone();
}

void LatestJob::forget() {
  thread_.clear();
  ++newest_;
  setBusy(false);
}

uint64_t LatestJob::begin() {
  thread_.clear();
  setBusy(true);
  return ++newest_;
}

void LatestJob::tell(uint64_t number, std::function<void()> outcome) {
  QMetaObject::invokeMethod(
      this,
      [this, number, outcome = std::move(outcome)] {
        if (number != newest_) return;
        outcome();
        if (number == newest_) setBusy(false);  // the outcome may have started the next
      },
      Qt::QueuedConnection);
}

void LatestJob::setBusy(bool busy) {
  if (busy_ == busy) return;
  busy_ = busy;
  Q_EMIT busyChanged(busy);
}

}  // namespace headroom::gui
