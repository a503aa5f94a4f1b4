#include "gui/view/scaling_page.h"

#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QStyle>
#include <QVBoxLayout>
#include <cmath>

#include "gui/model/figure_text.h"
#include "gui/model/groundwork.h"
#include "gui/view/chart_view.h"
#include "gui/view/limit_field.h"
#include "gui/view/plain_label.h"
#include "gui/view/request_form.h"
#include "reports/figures/layers.h"

namespace headroom::gui {
namespace {

constexpr int kWidestLayers = 440;

/// "4.2 MP, about 2048×2048": of the question's shape.
QString size_words(double pixels, const Request& request) {
  const double shape = double(request.width_pixels) / double(request.height_pixels);
  const auto side = [](double length) { return static_cast<qlonglong>(std::floor(length / 8) * 8); };
  return ScalingPage::tr("%1, about %2×%3")
      .arg(figure_text(reports::Unit::pixels, pixels))
      .arg(side(std::sqrt(pixels * shape)))
      .arg(side(std::sqrt(pixels / shape)));
}

QString largest_words(const QString& name, const std::vector<reports::ScalingPoint>& series, int64_t limit,
                      const Request& request) {
  if (series.empty()) return {};
  const double pixels = reports::largest_pixels_within(series, limit);
  if (pixels < 0)
    return ScalingPage::tr("%1: not even %2×%3 fits.")
        .arg(name)
        .arg(series.front().width_pixels)
        .arg(series.front().height_pixels);
  const bool all = pixels >= double(series.back().pixels());
  return (all ? ScalingPage::tr("%1: %2 and more.") : ScalingPage::tr("%1: up to %2."))
      .arg(name, size_words(pixels, request));
}

/// Sizes kept from a longer ladder are not shown on a shorter one.
void cut(std::vector<reports::ScalingPoint>& series, int64_t most_across) {
  std::erase_if(series, [&](const reports::ScalingPoint& point) {
    return std::max(point.width_pixels, point.height_pixels) > most_across;
  });
}

}  // namespace

ScalingPage::ScalingPage(Workspace& workspace, QWidget* parent) : Page(parent), workspace_(workspace) {
  auto* columns = new QSplitter(Qt::Horizontal, this);
  columns->setObjectName("scaling");
  columns->addWidget(buildSide());
  auto* middle = new QWidget(columns);
  auto* column = new QVBoxLayout(middle);
  column->setContentsMargins({});
  limit_ = new LimitField(workspace_, middle);
  column->addWidget(limit_);
  auto* halves = new QSplitter(Qt::Vertical, middle);
  halves->setObjectName("scaling-halves");
  chart_ = new ChartView(halves);
  chart_->setToolTip(tr("Drag the limit's line to see which sizes fit."));
  latency_tables_ = buildLatencyTables();
  halves->addWidget(latency_tables_);
  halves->setStretchFactor(0, 3);
  halves->setStretchFactor(1, 2);
  halves->setChildrenCollapsible(false);
  column->addWidget(halves, 1);
  columns->addWidget(middle);
  columns->setStretchFactor(0, 0);
  columns->setStretchFactor(1, 1);
  columns->setChildrenCollapsible(false);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(columns);

  connect(chart_, &ChartView::handleMoved, limit_, &LimitField::drag);
  connect(chart_, &ChartView::handleReleased, limit_, &LimitField::drag);
  connect(&workspace_, &Workspace::questionChanged, this, &ScalingPage::work);
  connect(&workspace_, &Workspace::documentsChanged, this, [this] {
    listLayers();
    draw();
  });
  connect(&job_, &ScalingJob::progressed, this, &ScalingPage::take);
  connect(&job_, &ScalingJob::busyChanged, this, [this](bool busy) {
    const bool left = progress_.done < progress_.sizes && progress_.failure.isEmpty();
    bar_->setVisible(busy || left);
    go_on_->setVisible(busy || left);
    go_on_->setText(busy ? tr("Sto&p") : tr("&Go on"));
    Q_EMIT busyChanged();
  });
  listLayers();
}

QWidget* ScalingPage::buildSide() {
  auto* area = new QScrollArea(this);
  auto* side = new QWidget(area);
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins({});
  words_ = new PlainLabel(side);
  words_->setObjectName("largest");
  words_->setWordWrap(true);
  words_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  column->addWidget(words_);
  auto* rows = new QFormLayout;
  rows->setRowWrapPolicy(QFormLayout::WrapAllRows);
  most_ = new QComboBox(side);
  most_->setObjectName("most-across");
  for (const int across : {1024, 2048, 4096, 8192, 16384})
    most_->addItem(tr("%1 pixels").arg(across), across);
  most_->setCurrentIndex(2);
  most_->setToolTip(tr("The longer side of the largest picture that is looked at; large ones take seconds."));
  rows->addRow(tr("Sizes &up to"), most_);
  column->addLayout(rows);
  bar_ = new QProgressBar(side);
  bar_->setFormat(tr("%v of %m sizes"));
  bar_->hide();
  go_on_ = new QPushButton(side);
  go_on_->setObjectName("stop");
  go_on_->hide();
  column->addWidget(bar_);
  column->addWidget(go_on_);
  column->addWidget(new RequestForm(workspace_, side));
  column->addStretch();
  area->setWidget(side);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setMinimumWidth(side->minimumSizeHint().width() + style()->pixelMetric(QStyle::PM_ScrollBarExtent));
  connect(most_, &QComboBox::currentIndexChanged, this, &ScalingPage::work);
  connect(go_on_, &QPushButton::clicked, this, [this] {
    if (job_.busy()) {
      job_.cancel();
    } else if (asked_) {
      job_.start(*asked_, asked_across_);
    }
  });
  return area;
}

QWidget* ScalingPage::buildLatencyTables() {
  auto* box = new QWidget(this);
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins({});
  auto* row = new QHBoxLayout;
  auto* label = new PlainLabel(tr("Latency table of la&yer"), box);
  layer_ = new QComboBox(box);
  layer_->setObjectName("layer");
  layer_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  layer_->setMinimumContentsLength(24);
  layer_->setMaximumWidth(kWidestLayers);
  label->setBuddy(layer_);
  const QString explanation =
      tr("How the time of one call of the layer grows with its tile, as the profile measured it.");
  label->setToolTip(explanation);
  layer_->setToolTip(explanation);
  row->addWidget(label);
  row->addWidget(layer_, 1);
  row->addStretch();
  column->addLayout(row);
  latency_table_words_ = new PlainLabel(box);
  latency_table_words_->setWordWrap(true);
  column->addWidget(latency_table_words_);
  latency_table_ = new ChartView(box);
  column->addWidget(latency_table_, 1);
  connect(layer_, &QComboBox::currentIndexChanged, this, &ScalingPage::drawLatencyTable);
  return box;
}

void ScalingPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  work();
}

int64_t ScalingPage::mostAcross() const {
  return most_->currentData().toLongLong();
}

/// Starts what was not asked before; a limit that moves needs nothing new.
void ScalingPage::work() {
  const PlanningQuestion& question = workspace_.question();
  if (!isVisible() || question.request.width_pixels <= 0) return;
  if (!asked_ || !same_but_limit(question, *asked_) || asked_across_ != mostAcross()) {
    const bool other = !asked_ || !same_but_limit(question, *asked_);
    asked_ = question;
    asked_across_ = mostAcross();
    if (other) progress_ = {};
    bar_->setRange(0, 0);
    job_.start(question, mostAcross());
    listLayers();
  }
  draw();
}

void ScalingPage::take(const ScalingProgress& progress) {
  progress_ = progress;
  bar_->setRange(0, static_cast<int>(progress.sizes));
  bar_->setValue(static_cast<int>(progress.done));
  draw();
}

void ScalingPage::draw() {
  reports::Scaling shown = progress_.scaling;
  cut(shown.planned, mostAcross());
  cut(shown.untiled, mostAcross());
  const int64_t limit = workspace_.question().options.limit_bytes;
  shown.limit_bytes = limit;
  if (shown.decoder) reports::add_measured(shown, workspace_.documents());
  chart_->setChart(reports::scaling_chart(shown));
  if (limit > 0 && !shown.planned.empty()) {
    chart_->setHandle(double(limit), false, {});  // the chart's own line is named
    limit_->setRange(shown.planned.front().bytes / 2, shown.planned.back().bytes * 2);
  } else {
    chart_->clearHandle();
  }
  sayLargest(shown);
}

void ScalingPage::sayLargest(const reports::Scaling& shown) {
  if (!progress_.failure.isEmpty()) return words_->setText(progress_.failure);
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

/// The one that is planned by, or else the one that is chosen.
reports::DocumentPtr ScalingPage::profile() const {
  return workspace_.question().profile ? workspace_.question().profile
                                       : workspace_.chosen<profiler::Profile>();
}

void ScalingPage::listLayers() {
  const QSignalBlocker blocker(layer_);
  const QString before = layer_->currentText();
  layer_->clear();
  if (const reports::DocumentPtr document = profile()) {
    const auto& contents = *document->as<profiler::Profile>();
    for (const profiler::LayerProfile& layer : contents.layers) {
      if (contents.find_latency_table(layer.latency_table) != nullptr)
        layer_->addItem(figure_text(layer.name), QString::fromStdString(layer.latency_table));
    }
  }
  layer_->setCurrentIndex(std::max(layer_->findText(before), 0));
  layer_->setEnabled(layer_->count() > 0);
  drawLatencyTable();
}

void ScalingPage::drawLatencyTable() {
  const reports::DocumentPtr document = profile();
  const std::string name = layer_->currentData().toString().toStdString();
  const profiler::LatencyTable* latency_table =
      document == nullptr ? nullptr : document->as<profiler::Profile>()->find_latency_table(name);
  latency_table_->setVisible(latency_table != nullptr);
  if (latency_table == nullptr) {
    latency_table_words_->setText(
        tr("Open a profile of this machine to see how the time of its layers grows."));
    return;
  }
  latency_table_->setChart(reports::latency_table_chart(*latency_table));
  latency_table_words_->setText(tr("%1: seen from %2 to %3 positions; at %4 more its error was %5.")
                                    .arg(figure_text(latency_table->name))
                                    .arg(latency_table->least_positions())
                                    .arg(latency_table->most_positions())
                                    .arg(latency_table->held_out_points)
                                    .arg(figure_text(reports::Unit::share, latency_table->held_out_error)));
}

std::vector<Export> ScalingPage::exports() {
  std::vector<Export> list{chart_->exporter("scaling")};
  if (latency_table_->isVisibleTo(this)) list.push_back(latency_table_->exporter(tr("Latency table")));
  return list;
}

}  // namespace headroom::gui
