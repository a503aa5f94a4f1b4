#include "gui/view/chart_axis.h"

#include <algorithm>
#include <cmath>

#include "gui/model/figure_text.h"
#include "reports/figures/ticks.h"

namespace headroom::gui {
namespace {

/// Ticks as in the reports.
class UnitTicker final : public QCPAxisTicker {
 public:
  UnitTicker(reports::Unit unit, bool logarithmic) : unit_(unit), logarithmic_(logarithmic) {}

 protected:
  double getTickStep(const QCPRange&) override { return 1; }  // unused: createTickVector() places the ticks
  int getSubTickCount(double) override { return 0; }
  QVector<double> createTickVector(double, const QCPRange& range) override {
    ticks_.clear();
    if (std::isfinite(range.size()) && range.size() > 0 && (!logarithmic_ || range.lower > 0))
      ticks_ = reports::ticks(unit_, {range.lower, range.upper}, logarithmic_, size_t(tickCount()));
    QVector<double> places;
    for (const reports::Tick& tick : ticks_) places << tick.at;
    return places;
  }
  QString getTickLabel(double at, const QLocale&, QChar, int) override {
    const auto tick =
        std::find_if(ticks_.begin(), ticks_.end(), [&](const reports::Tick& one) { return one.at == at; });
    return tick == ticks_.end() ? QString() : QString::fromStdString(tick->label);
  }

 private:
  reports::Unit unit_;
  bool logarithmic_;
  std::vector<reports::Tick> ticks_;
};

}  // namespace

QSharedPointer<QCPAxisTicker> ticker_of(const reports::ChartAxis& axis) {
  return QSharedPointer<QCPAxisTicker>(new UnitTicker(axis.unit, axis.logarithmic));
}

QString tick_text(reports::Unit unit, double value, double step) {
  const QString text = figure_text(unit, value);
  if (text != figure_text(unit, value + step) && text != figure_text(unit, value - step)) return text;
  return QString::fromStdString(reports::fine_label(unit, value, step));
}

}  // namespace headroom::gui
