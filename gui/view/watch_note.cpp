#include "gui/view/watch_note.h"

#include <QCoreApplication>
#include <QLocale>
#include <QStringList>
#include <cstdlib>

#include "gui/model/figure_text.h"

namespace headroom::gui {
namespace {

class WatchNote {
  Q_DECLARE_TR_FUNCTIONS(headroom::gui::WatchNote)
 public:
  static void addSources(const Trace& trace, QStringList& words);
  static void addCounts(const Trace& trace, QStringList& words);
  static QString driver(const reports::DriverDifference& difference);
};

void WatchNote::addSources(const Trace& trace, QStringList& words) {
  QStringList captured;
  for (const TraceSource& source : trace.sources) {
    if (source.captured) captured << QString::fromStdString(source.name);
  }
  if (!captured.isEmpty()) words << tr("Watched by %1.").arg(captured.join(tr(", ")));
  for (const TraceSource& source : trace.sources) {
    if (source.captured) continue;
    const QString name = QString::fromStdString(source.name);
    words << (source.detail.empty()
                  ? tr("%1: not captured.").arg(name)
                  : tr("%1: not captured: %2.").arg(name, QString::fromStdString(source.detail)));
  }
}

void WatchNote::addCounts(const Trace& trace, QStringList& words) {
  const QLocale locale = QLocale::c();
  const auto add = [&](const QString& text, int64_t count) {
    if (count > 0) words << text.arg(locale.toString(static_cast<qlonglong>(count)));
  };
  add(tr("Records lost: %1."), trace.records_lost);
  add(tr("Activities that belong to no step: %1."), trace.activities_of_no_step);
  add(tr("Activities not listed one by one: %1."), trace.activities_left_out);
}

QString WatchNote::driver(const reports::DriverDifference& difference) {
  const int64_t apart = difference.driver_bytes - difference.counted_bytes;
  if (apart == 0) return tr("The driver counted the same.");
  const QString bytes = figure_text(reports::Unit::bytes, double(std::abs(apart))),
                at = figure_text(reports::Unit::seconds, difference.seconds);
  return apart > 0 ? tr("The driver counted at most %1 more, at %2.").arg(bytes, at)
                   : tr("The driver counted at most %1 less, at %2.").arg(bytes, at);
}

}  // namespace

QString watch_note(const Trace& trace, const std::optional<reports::DriverDifference>& difference) {
  QStringList words;
  WatchNote::addSources(trace, words);
  WatchNote::addCounts(trace, words);
  if (difference) words << WatchNote::driver(*difference);
  return words.join(QLatin1Char(' '));
}

}  // namespace headroom::gui
