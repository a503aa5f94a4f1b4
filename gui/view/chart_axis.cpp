#include "gui/view/chart_axis.h"

#include <algorithm>
#include <cmath>

#include "gui/model/figure_text.h"
#include "reports/figures/ticks.h"

namespace headroom::gui {
namespace {

QString with_digits(double value, double step, double one, const char* unit) {
  const int digits = std::clamp(static_cast<int>(std::ceil(-std::log10(step / one) - 1e-9)), 0, 9);
  return QString::number(value / one, 'f', digits) + QLatin1Char(' ') + QLatin1String(unit);
}

QString bytes_with_digits(double value, double step) {
  constexpr double kKibi = 1024, kMebi = kKibi * 1024, kGibi = kMebi * 1024;
  if (value >= kGibi) return with_digits(value, step, kGibi, "GiB");
  if (value >= kMebi) return with_digits(value, step, kMebi, "MiB");
  if (value >= kKibi) return with_digits(value, step, kKibi, "KiB");
  return with_digits(value, step, 1, "B");
}

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
  // The reports' format ends at 0.1 ms.
  if (unit == reports::Unit::seconds && value > 0 && value < 1e-4)
    return QString::number(value * 1e6, 'g', 3) + QStringLiteral(" µs");
  const QString text = figure_text(unit, value);
  if (text != figure_text(unit, value + step) && text != figure_text(unit, value - step)) return text;
  if (unit == reports::Unit::bytes) return bytes_with_digits(value, step);
  if (unit == reports::Unit::seconds) return with_digits(value, step, 1, "s");
  return QString::number(value, 'g', 12);
}

}  // namespace headroom::gui
