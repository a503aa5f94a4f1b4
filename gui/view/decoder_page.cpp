#include "gui/view/decoder_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedWidget>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>
#include <set>

#include "decoder/base/short_name.h"
#include "gui/model/figure_text.h"
#include "gui/model/workspace.h"
#include "gui/view/chart_view.h"
#include "gui/view/colours.h"
#include "gui/view/decoder_canvas.h"
#include "gui/view/empty_page.h"
#include "gui/view/legend.h"
#include "gui/view/plain_text.h"
#include "gui/view/table_view.h"

namespace headroom::gui {
namespace {

constexpr size_t kNamedAtPeak = 3;

LegendEntry line_entry(const QString& text, double width, Qt::PenStyle style) {
  return {text, [width, style](QPainter& painter, const QRectF& swatch, const QPalette& palette) {
            painter.setPen(QPen(palette.color(QPalette::Text), width, style));
            painter.drawLine(QPointF(swatch.left(), swatch.center().y()),
                             QPointF(swatch.right(), swatch.center().y()));
          }};
}

}  // namespace

DecoderPage::DecoderPage(Workspace& workspace, QWidget* parent)
    : Page(parent),
      workspace_(workspace),
      stack_(new QStackedWidget(this)),
      nothing_(new PlainLabel(stack_)) {
  nothing_->setAlignment(Qt::AlignCenter);
  nothing_->setWordWrap(true);
  nothing_->setMargin(40);
  stack_->addWidget(
      empty_page(*this,
                 tr("This page shows the decoder as a plan runs it: what each pass computes, what it keeps "
                    "for later passes, and where the peak is. No plan is open."),
                 {{tr("&Plan a decode"), QStringLiteral("frontier")}}));
  stack_->addWidget(nothing_);
  stack_->addWidget(buildViews());
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 8, 8, 8);
  layout->addWidget(stack_);
  connect(&workspace_, &Workspace::documentsChanged, this, &DecoderPage::refresh);
  connect(&job_, &Job::busyChanged, this, &Page::busyChanged);
  connect(canvas_, &DecoderCanvas::chosen, this, &DecoderPage::showChosen);
  connect(canvas_, &DecoderCanvas::opened, show_pass_, &QPushButton::click);
  connect(peak_, &QPushButton::clicked, this, &DecoderPage::goToPeak);
  connect(show_pass_, &QPushButton::clicked, this, [this] {
    if (picture_ == nullptr || canvas_->pass() < 0) return;
    const auto pass = static_cast<size_t>(canvas_->pass());
    Q_EMIT passAsked(canvas_->pass(), static_cast<int>(picture_->passes[pass].peak_tile));
  });
  connect(show_layer_, &QPushButton::clicked, this, [this] {
    if (picture_ == nullptr || canvas_->node() < 0) return;
    const reports::DrawnNode& node = picture_->nodes[static_cast<size_t>(canvas_->node())];
    Q_EMIT layerAsked(QString::fromStdString(plan().model.graph.tensor(node.tensor).name));
  });
  refresh();
}

QWidget* DecoderPage::buildViews() {
  auto* views = new QWidget(stack_);
  auto* column = new QVBoxLayout(views);
  column->setContentsMargins({});
  heading_ = new PlainLabel(views);
  heading_->setWordWrap(true);
  heading_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  legend_ = new Legend(views);
  auto* halves = new QSplitter(Qt::Vertical, views);
  halves->setObjectName(QStringLiteral("decoder"));
  halves->setChildrenCollapsible(false);
  area_ = new QScrollArea(halves);
  area_->setWidgetResizable(true);
  area_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  canvas_ = new DecoderCanvas(area_);
  area_->setWidget(canvas_);
  halves->addWidget(area_);
  halves->addWidget(buildChosen());
  halves->setStretchFactor(0, 4);
  halves->setStretchFactor(1, 1);
  halves->setSizes({560, 170});
  column->addWidget(heading_);
  column->addWidget(legend_);
  column->addWidget(halves, 1);
  return views;
}

QWidget* DecoderPage::buildChosen() {
  auto* below = new QSplitter(Qt::Horizontal);
  below->setObjectName(QStringLiteral("decoder-chosen"));
  below->setChildrenCollapsible(false);
  auto* words = new QWidget(below);
  auto* column = new QVBoxLayout(words);
  column->setContentsMargins({});
  chosen_ = new PlainLabel;
  chosen_->setWordWrap(true);
  chosen_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  chosen_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  auto* scroll = new QScrollArea(words);  // long names need several lines
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setWidget(chosen_);
  peak_ = new QPushButton(tr("&Go to the peak"), words);
  show_pass_ = new QPushButton(tr("Its tiles on the page &Plan"), words);
  show_layer_ = new QPushButton(tr("Its figures on the page &Layers"), words);
  auto* row = new QHBoxLayout;
  for (QPushButton* button : {peak_, show_pass_, show_layer_}) row->addWidget(button);
  row->addStretch(1);
  column->addLayout(row);
  column->addWidget(scroll, 1);
  live_ = new TableView(below);
  live_->setObjectName(QStringLiteral("decoder-live"));
  live_->hideFilter();
  below->addWidget(words);
  below->addWidget(live_);
  below->setStretchFactor(0, 1);
  below->setStretchFactor(1, 1);
  below->setSizes({500, 500});
  return below;
}

void DecoderPage::refresh() {
  const reports::DocumentPtr plan = workspace_.chosen<reports::PlanDocument>();
  const reports::DocumentPtr run = plan == nullptr ? nullptr : run_of_plan(workspace_, plan);
  // The drawing names tensors by number, which is only valid for its own graph.
  if (plan != plan_ || plan == nullptr) {
    job_.forget();
    picture_.reset();
    canvas_->setPicture(nullptr, nullptr);
    stack_->setCurrentIndex(plan == nullptr ? 0 : 1);
    nothing_->setText(tr("Drawing the decoder…"));
  }
  const bool drawn = plan == plan_ && run == run_;
  plan_ = plan;
  run_ = run;
  // Needed for an unchanged plan too: the open profile decides if the chosen layer has figures elsewhere.
  showChosen();
  if (drawn || plan_ == nullptr) return;
  job_.start(
      [plan, run](const Job::Turn&) {
        return std::make_shared<const reports::DecoderPicture>(reports::decoder_picture(
            *plan->as<reports::PlanDocument>(), run == nullptr ? nullptr : run->as<RunStats>()));
      },
      [this](const std::shared_ptr<const reports::DecoderPicture>& made) { showPicture(made); },
      [this](const QString& fault) {
        nothing_->setText(fault);
        Q_EMIT message(fault);
      });
}

void DecoderPage::showPicture(std::shared_ptr<const reports::DecoderPicture> picture) {
  picture_ = std::move(picture);
  stack_->setCurrentIndex(2);
  canvas_->setPicture(picture_, plan_);
  listMarks();
  describePeak();
  goToPeak();
}

void DecoderPage::goToPeak() {
  if (picture_ == nullptr || picture_->passes.empty()) return;
  goToPass(static_cast<int>(picture_->peak_pass));
}

void DecoderPage::goToPass(int pass) {
  canvas_->choose(pass, -1);
  showInArea();
}

void DecoderPage::showInArea() {
  // The position of a pass is known once the layout has its width.
  QTimer::singleShot(0, this, [this] {
    const QRect band = canvas_->rectOfPass(canvas_->pass());
    if (!band.isNull()) area_->ensureVisible(0, band.center().y(), 0, area_->viewport()->height() / 2);
  });
}

/// Scrolls to the pass if it was chosen before the page had a size.
void DecoderPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  if (picture_ != nullptr && canvas_->pass() >= 0) showInArea();
}

/// Says in a sentence where the peak is and what holds it.
void DecoderPage::describePeak() {
  if (picture_->passes.empty()) return heading_->clear();
  const reports::DrawnPass& pass = picture_->passes[picture_->peak_pass];
  QString text = reports::is_limit(picture_->limit_bytes)
                     ? tr("The peak is %1 of %2")
                           .arg(figure_text(reports::Unit::bytes, double(pass.peak_bytes)),
                                figure_text(reports::Unit::bytes, double(picture_->limit_bytes)))
                     : tr("The peak is %1").arg(figure_text(reports::Unit::bytes, double(pass.peak_bytes)));
  text += tr(", in pass %1, %2.").arg(picture_->peak_pass).arg(QString::fromStdString(short_name(pass.name)));
  QStringList holders;
  for (const reports::LiveEntry& entry : pass.live) {
    if (static_cast<size_t>(holders.size()) == kNamedAtPeak) break;
    const QString bytes = figure_text(reports::Unit::bytes, double(entry.bytes));
    const QString name = figure_text(entry.name), kind = figure_text(title_of(entry.kind));
    holders << (name == kind ? name + QLatin1Char(' ') + bytes : tr("%1 %2 (%3)").arg(name, bytes, kind));
  }
  if (!holders.isEmpty()) text += QLatin1Char(' ') + tr("The largest parts: %1.").arg(holders.join(tr(", ")));
  heading_->setText(text);
}

void DecoderPage::listMarks() {
  std::vector<MemoryKind> kinds;
  bool again = false, measured = false;
  for (size_t kind = 0; kind < kMemoryKinds; ++kind) {
    if (std::any_of(picture_->passes.begin(), picture_->passes.end(),
                    [&](const reports::DrawnPass& pass) { return pass.use[kind] > 0; }))
      kinds.push_back(static_cast<MemoryKind>(kind));
  }
  for (const reports::DrawnNode& node : picture_->nodes) again |= node.again;
  for (const reports::DrawnPass& pass : picture_->passes) measured |= pass.measured.has_value();
  std::vector<LegendEntry> entries = kind_entries(kinds);
  std::set<MemoryTier> tiers;  // tiers below device memory; kept tensors on the device are a kind of memory
  for (const reports::DrawnKept& kept : picture_->kept) {
    if (kept.tier != MemoryTier::device) tiers.insert(kept.tier);
  }
  for (const MemoryTier tier : tiers) {
    entries.push_back(colour_entry(tr("kept %1").arg(words_of(tier)),
                                   [tier](const QPalette& palette) { return colour_of(tier, palette); }));
  }
  entries.push_back(line_entry(tr("barrier: the pass must end"), 2, Qt::SolidLine));
  entries.push_back(line_entry(tr("ends to keep a tensor"), 1, Qt::DashLine));
  if (again) {
    entries.push_back(
        {tr("↻ computed once more"), [](QPainter& painter, const QRectF& swatch, const QPalette& palette) {
           painter.setPen(QPen(palette.color(QPalette::Text), 1, Qt::DashLine));
           painter.drawRoundedRect(swatch, 3, 3);
         }});
  }
  if (measured) {
    entries.push_back(
        {tr("measured peak"), [](QPainter& painter, const QRectF& swatch, const QPalette& palette) {
           painter.setPen(QPen(colour_of(reports::ColourRole::driver, palette), 2));
           painter.drawLine(QPointF(swatch.center().x(), swatch.top()),
                            QPointF(swatch.center().x(), swatch.bottom()));
         }});
  }
  legend_->setEntries(std::move(entries));
}

void DecoderPage::showChosen() {
  const int pass = picture_ == nullptr ? -1 : canvas_->pass(), node = pass < 0 ? -1 : canvas_->node();
  const bool profiled = workspace_.chosen<profiler::Profile>() != nullptr;
  show_pass_->setEnabled(pass >= 0);
  show_layer_->setEnabled(node >= 0 && profiled);
  show_layer_->setToolTip(profiled ? QString() : tr("Open a profile: it has the figures of each layer."));
  if (pass < 0) {
    chosen_->setText(tr("Choose a pass or an operation."));
    live_->setTable({});
    return;
  }
  QStringList words;
  if (node >= 0) words << canvas_->describeNode(node);
  words << canvas_->describePass(pass);
  chosen_->setText(words.join(QStringLiteral("\n\n")));
  live_->setTable(reports::live_table(picture_->passes[static_cast<size_t>(pass)].live,
                                      "on the device at the pass's peak"));
}

std::vector<Export> DecoderPage::exports() {
  if (picture_ == nullptr) return {};
  return {painting_of(*canvas_, tr("Decoder")), live_->exporter(tr("Live at the pass's peak"))};
}

}  // namespace headroom::gui
