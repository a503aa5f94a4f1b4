#include "gui/view/scaling_view.h"

#include <QComboBox>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/model/figure_text.h"
#include "gui/model/groundwork.h"
#include "gui/view/chart_view.h"
#include "gui/view/plain_text.h"

namespace headroom::gui {
namespace {

/// "4.2 MP, about 2048×2048", with the question's aspect ratio.
QString size_words(double pixels, const Request& request) {
  const double shape = double(request.width_pixels) / double(request.height_pixels);
  const auto side = [](double length) { return static_cast<qlonglong>(std::floor(length / 8) * 8); };
  return ScalingView::tr("%1, about %2×%3")
      .arg(figure_text(reports::Unit::pixels, pixels))
      .arg(side(std::sqrt(pixels * shape)))
      .arg(side(std::sqrt(pixels / shape)));
}

QString largest_words(const QString& name, const std::vector<reports::ScalingPoint>& series, int64_t limit,
                      const Request& request) {
  if (series.empty()) return {};
  const double pixels = reports::largest_pixels_within(series, limit);
  if (pixels < 0)
    return ScalingView::tr("%1: not even %2×%3 fits.")
        .arg(name)
        .arg(series.front().width_pixels)
        .arg(series.front().height_pixels);
  const bool all = pixels >= double(series.back().pixels());
  return (all ? ScalingView::tr("%1: %2 and more.") : ScalingView::tr("%1: up to %2."))
      .arg(name, size_words(pixels, request));
}

bool has(const std::vector<reports::ScalingPoint>& series, const Request& size) {
  return std::any_of(series.begin(), series.end(), [&](const reports::ScalingPoint& point) {
    return point.width_pixels == size.width_pixels && point.height_pixels == size.height_pixels;
  });
}

void append(std::vector<reports::ScalingPoint>& series, const std::vector<reports::ScalingPoint>& more) {
  series.insert(series.end(), more.begin(), more.end());
  std::stable_sort(
      series.begin(), series.end(),
      [](const reports::ScalingPoint& a, const reports::ScalingPoint& b) { return a.pixels() < b.pixels(); });
}

/// Computes the sizes that `progress` lacks. Calls `tell` after each.
ScalingProgress scaled(const PlanningQuestion& question, int64_t most_across, ScalingProgress progress,
                       const Job::Turn& turn, const std::function<void(const ScalingProgress&)>& tell) {
  const Model model = model_of(question);
  const planner::CostModel costs = planner::costs_of(model.graph, asked_of(question));
  const std::vector<Request> sizes = reports::size_ladder(model, question.request, most_across);
  const auto is_known = [&](const Request& size) { return has(progress.scaling.planned, size); };
  progress.sizes = sizes.size();
  progress.done = static_cast<size_t>(std::count_if(sizes.begin(), sizes.end(), is_known));
  for (const Request& size : sizes) {
    if (is_known(size)) continue;
    const reports::Scaling one =
        reports::scaling(model, {size}, question.options, costs, [&] { return turn.goOn(); });
    if (one.planned.empty()) break;
    append(progress.scaling.untiled, one.untiled);
    append(progress.scaling.planned, one.planned);
    progress.scaling.decoder = one.decoder;
    ++progress.done;
    tell(progress);
  }
  return progress;
}

/// Removes the sizes beyond `most_across` that an earlier, longer ladder computed.
void cut(std::vector<reports::ScalingPoint>& series, int64_t most_across) {
  std::erase_if(series, [&](const reports::ScalingPoint& point) {
    return std::max(point.width_pixels, point.height_pixels) > most_across;
  });
}

}  // namespace

ScalingView::ScalingView(Workspace& workspace, QWidget* parent)
    : QWidget(parent),
      workspace_(workspace),
      chart_(new ChartView(this)),
      most_(new QComboBox(this)),
      words_(new PlainLabel(this)),
      bar_(new QProgressBar(this)),
      go_on_(new QPushButton(this)) {
  chart_->setToolTip(tr("Drag the limit's line to see which sizes fit."));
  words_->setObjectName("largest");
  words_->setWordWrap(true);
  words_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  most_->setObjectName("most-across");
  for (const int across : {1024, 2048, 4096, 8192, 16384})
    most_->addItem(tr("%1 pixels").arg(across), across);
  most_->setCurrentIndex(2);
  most_->setToolTip(tr("The longer side of the largest picture to compute. Large pictures take seconds."));
  auto* up_to = new PlainLabel(tr("Sizes u&p to"), this);
  up_to->setBuddy(most_);
  bar_->setFormat(tr("%v of %m sizes"));
  bar_->hide();
  go_on_->setObjectName("stop");
  go_on_->hide();
  auto* row = new QHBoxLayout;
  row->addWidget(up_to);
  row->addWidget(most_);
  row->addWidget(bar_, 1);
  row->addWidget(go_on_);
  row->addStretch();
  auto* column = new QVBoxLayout(this);
  column->addWidget(words_);
  column->addLayout(row);
  column->addWidget(chart_, 1);
  connect(chart_, &ChartView::handleMoved, this, &ScalingView::limitDragged);
  connect(chart_, &ChartView::handleReleased, this, &ScalingView::limitDragged);
  connect(most_, &QComboBox::currentIndexChanged, this, &ScalingView::work);
  connect(go_on_, &QPushButton::clicked, this, [this] {
    if (job_.busy()) {
      job_.forget();
    } else if (asked_) {
      start();
    }
  });
  connect(&workspace_, &Workspace::questionChanged, this, &ScalingView::work);
  connect(&workspace_, &Workspace::documentsChanged, this, &ScalingView::draw);
  connect(&job_, &Job::busyChanged, this, &ScalingView::showBusy);
}

void ScalingView::showBusy(bool busy) {
  const bool left = progress_.done < progress_.sizes && failure_.isEmpty();
  bar_->setVisible(busy || left);
  go_on_->setVisible(busy || left);
  go_on_->setText(busy ? tr("Stop") : tr("&Go on"));
  Q_EMIT busyChanged();
}

void ScalingView::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  work();
}

int64_t ScalingView::mostAcross() const {
  return most_->currentData().toLongLong();
}

/// Starts the computation for a new question. A changed limit needs no new computation.
void ScalingView::work() {
  const PlanningQuestion& question = workspace_.question();
  if (!isVisible() || question.request.width_pixels <= 0) return;
  if (!asked_ || !same_but_limit(question, *asked_) || asked_across_ != mostAcross()) {
    const bool other = !asked_ || !same_but_limit(question, *asked_);
    asked_ = question;
    asked_across_ = mostAcross();
    if (other) progress_ = {};
    bar_->setRange(0, 0);
    start();
  }
  draw();
}

void ScalingView::start() {
  failure_.clear();
  job_.start(
      [this, question = *asked_, across = asked_across_, progress = progress_](const Job::Turn& turn) {
        return scaled(question, across, progress, turn,
                      [&](const ScalingProgress& so_far) { turn.post([this, so_far] { take(so_far); }); });
      },
      [this](const ScalingProgress& progress) { take(progress); },
      [this](const QString& failure) {
        failure_ = failure;
        draw();
      });
}

void ScalingView::take(const ScalingProgress& progress) {
  progress_ = progress;
  bar_->setRange(0, static_cast<int>(progress.sizes));
  bar_->setValue(static_cast<int>(progress.done));
  draw();
}

void ScalingView::draw() {
  reports::Scaling shown = progress_.scaling;
  cut(shown.planned, mostAcross());
  cut(shown.untiled, mostAcross());
  const int64_t limit = workspace_.question().options.limit_bytes;
  shown.limit_bytes = limit;
  if (shown.decoder) reports::add_measured(shown, workspace_.documents());
  chart_->setChart(reports::scaling_chart(shown));
  if (limit > 0 && !shown.planned.empty()) {
    chart_->setHandle(double(limit), false, {});  // without a label: the chart's own line has one
  } else {
    chart_->clearHandle();
  }
  sayLargest(shown);
}

void ScalingView::sayLargest(const reports::Scaling& shown) {
  if (!failure_.isEmpty()) return words_->setText(failure_);
  const Request& request = workspace_.question().request;
  const int64_t limit = shown.limit_bytes;
  if (limit <= 0) return words_->setText(tr("Set a limit to see the largest pictures that fit it."));
  QStringList lines{
      tr("The largest pictures within %1:").arg(figure_text(reports::Unit::bytes, double(limit)))};
  lines << largest_words(tr("Untiled"), shown.untiled, limit, request);
  lines << largest_words(tr("Planned"), shown.planned, limit, request);
  lines.removeAll(QString());
  words_->setText(lines.join('\n'));
}

}  // namespace headroom::gui
