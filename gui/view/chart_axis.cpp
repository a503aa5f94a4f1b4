#include "gui/view/chart_axis.h"

#include <algorithm>
#include <cmath>
#include <set>

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

/// Marks as the reports draw them.
class UnitTicker final : public QCPAxisTicker {
 public:
  UnitTicker(reports::Unit unit, bool logarithmic) : unit_(unit), logarithmic_(logarithmic) {}

 protected:
  double getTickStep(const QCPRange&) override { return 1; }  // which nobody asks for
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

/// Names at 0, 1, 2 …: as many as fit, the ends of long ones, which is what tells layers apart.
class CategoryTicker final : public QCPAxisTicker {
 public:
  explicit CategoryTicker(const std::vector<std::string>& categories) {
    for (const std::string& category : categories) names_ << figure_text(category);
  }

 protected:
  double getTickStep(const QCPRange& range) override {
    return std::max(1.0, std::ceil(range.size() / tickCount()));
  }
  int getSubTickCount(double) override { return 0; }
  QString getTickLabel(double tick, const QLocale&, QChar, int) override {
    const auto at = std::llround(tick);
    if (at < 0 || at >= names_.size() || std::abs(tick - double(at)) > 1e-6) return {};
    constexpr int kMost = 22;
    const QString& name = names_[at];
    return name.size() <= kMost ? name : QStringLiteral("…") + name.right(kMost - 1);
  }

 private:
  QStringList names_;
};

struct Bounds {
  double least = HUGE_VAL, most = -HUGE_VAL;
  bool logarithmic = false;
  bool empty() const { return least > most; }
  void take(double value) {
    if (!std::isfinite(value) || (logarithmic && value <= 0)) return;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  /// With `share` of the whole beside each end.
  QCPRange widened(double before, double after, double nothing = 1) const {
    if (empty()) return logarithmic ? QCPRange(nothing, nothing * 10) : QCPRange(0, nothing);
    if (logarithmic) {
      const double whole = std::max(std::log(most / least), std::log(2.0));
      return {least * std::exp(-whole * before), most * std::exp(whole * after)};
    }
    double whole = most - least;
    if (whole <= 0) whole = std::max(std::abs(most), 1e-9);
    return {least - whole * before, most + whole * after};
  }
};

QCPRange x_extent(const reports::Chart& chart) {
  Bounds bounds;
  bounds.logarithmic = chart.x.logarithmic;
  bool exact = false;
  for (const reports::Series& series : chart.series) {
    exact = exact || series.mark == reports::Mark::area;
    if (series.mark == reports::Mark::bars || !chart.categories.empty()) {
      const auto last =
          std::max(series.x.empty() ? 0.0 : series.x.back(), double(chart.categories.size()) - 1);
      return {-0.7, last + 0.7};
    }
    for (const double x : series.x) bounds.take(x);
  }
  for (const reports::Span& span : chart.spans) {
    bounds.take(span.begin);
    bounds.take(span.end);
    exact = true;
  }
  for (const reports::Note& note : chart.notes) bounds.take(note.x);
  if (exact && !bounds.empty() && bounds.most > bounds.least) return {bounds.least, bounds.most};
  for (const reports::Guide& guide : chart.guides) {
    if (guide.vertical) bounds.take(guide.at);
  }
  return bounds.widened(0.05, 0.05);
}

QCPRange y_extent(const reports::Chart& chart) {
  Bounds bounds;
  bounds.logarithmic = chart.y.logarithmic;
  if (!bounds.logarithmic) bounds.take(0);
  for (const reports::Series& series : chart.series) {
    if (series.mark == reports::Mark::area) continue;
    for (const double y : series.y) bounds.take(y);
  }
  if (const Stack stack = stacked(chart); !stack.tops.empty()) {
    for (const double y : stack.tops.back()) bounds.take(y);
  }
  for (const reports::Note& note : chart.notes) bounds.take(note.y);
  // A limit far above would press everything else flat: it is then named at the edge.
  const double highest = bounds.empty() ? 0 : bounds.most;
  for (const reports::Guide& guide : chart.guides) {
    if (!guide.vertical &&
        (guide.always_in_sight || bounds.logarithmic || highest <= 0 || guide.at <= 2 * highest))
      bounds.take(guide.at);
  }
  const QCPRange range =
      bounds.widened(0, chart.spans.empty() ? 0.1 : 0.16);  // with a line for passes' names
  if (bounds.logarithmic) return bounds.widened(0.05, 0.1);
  return {bounds.empty() || bounds.least >= 0 ? 0 : range.lower - range.size() * 0.05, range.upper};
}

}  // namespace

Stack stacked(const reports::Chart& chart) {
  std::vector<const reports::Series*> areas;
  for (const reports::Series& series : chart.series) {
    if (series.mark == reports::Mark::area) areas.push_back(&series);
  }
  Stack stack;
  if (areas.empty()) return stack;
  const bool alike = std::all_of(areas.begin(), areas.end(),
                                 [&](const reports::Series* area) { return area->x == areas[0]->x; });
  if (alike) {
    stack.x = areas[0]->x;
  } else {
    std::set<double> places;
    for (const reports::Series* area : areas) places.insert(area->x.begin(), area->x.end());
    stack.x.assign(places.begin(), places.end());
  }
  std::vector<double> top(stack.x.size(), 0);
  for (const reports::Series* area : areas) {
    size_t next = 0;
    for (size_t i = 0; i < stack.x.size(); ++i) {
      while (next < area->x.size() && next < area->y.size() && area->x[next] <= stack.x[i]) ++next;
      if (next > 0) top[i] += area->y[next - 1];
    }
    stack.tops.push_back(top);
  }
  return stack;
}

ChartExtent extent_of(const reports::Chart& chart) {
  return {x_extent(chart), y_extent(chart)};
}

QSharedPointer<QCPAxisTicker> ticker_of(const reports::ChartAxis& axis,
                                        const std::vector<std::string>& categories) {
  if (!categories.empty()) return QSharedPointer<QCPAxisTicker>(new CategoryTicker(categories));
  return QSharedPointer<QCPAxisTicker>(new UnitTicker(axis.unit, axis.logarithmic));
}

QString tick_text(reports::Unit unit, double value, double step) {
  if (unit == reports::Unit::seconds && value > 0 && value < 1e-4)
    return QString::number(value * 1e6, 'g', 3) + QStringLiteral(" µs");  // the reports' texts end at 0.1 ms
  const QString text = figure_text(unit, value);
  if (text != figure_text(unit, value + step) && text != figure_text(unit, value - step)) return text;
  if (unit == reports::Unit::bytes) return bytes_with_digits(value, step);
  if (unit == reports::Unit::seconds) return with_digits(value, step, 1, "s");
  return QString::number(value, 'g', 12);
}

}  // namespace headroom::gui
