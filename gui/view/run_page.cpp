#include "gui/view/run_page.h"

#include <QDesktopServices>
#include <QFile>
#include <QFileInfo>
#include <QLabel>
#include <QPainter>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QSplitter>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/model/figure_text.h"
#include "gui/view/chart_view.h"
#include "gui/view/page.h"
#include "gui/view/plain_text.h"
#include "gui/view/run_form.h"
#include "reports/figures/timeline.h"

namespace headroom::gui {
namespace {

constexpr int kRefreshMilliseconds = 200;
constexpr int kBarSteps = 1000;
constexpr int kLeastFormWidth = 260;

/// Number of the running step, with its progress once that is known.
QString step_text(const RunProgress& progress) {
  const QString step = RunPage::tr("step %1 of %2").arg(progress.step + 1).arg(progress.steps);
  return progress.of_step > 0 ? RunPage::tr("%1 (%2 %)").arg(step).arg(qRound(100 * progress.of_step)) : step;
}

}  // namespace

reports::Chart memory_chart(const RunProgress& progress, double now_seconds) {
  reports::Chart chart;
  chart.title = RunPage::tr("Device memory").toStdString();
  chart.x = {"time", reports::Unit::seconds};
  chart.y = {"memory", reports::Unit::bytes};
  reports::Series pool{
      RunPage::tr("in the pool").toStdString(), reports::Mark::area, reports::ColourRole::measured, {}, {}};
  reports::Series outside{
      title_of(MemoryKind::outside), reports::Mark::area, reports::ColourRole::outside, {}, {}};
  double before = 0;
  for (const RunMemory& memory : progress.memory) {
    // A sample covers the time since the previous sample, so its peak starts there.
    pool.x.push_back(before);
    pool.y.push_back(double(memory.sample.peak_bytes));
    outside.x.push_back(before);
    outside.y.push_back(double(memory.sample.outside_bytes));
    before = memory.seconds;
  }
  const double now = std::max(before, now_seconds);
  const MemorySample last = progress.memory.empty() ? MemorySample{} : progress.memory.back().sample;
  const auto hold = [&](reports::Series& series, int64_t bytes) {
    for (const double at : {before, now}) {
      if (now <= 0 || (at == before && !series.x.empty() && series.x.back() == before)) continue;
      series.x.push_back(at);
      series.y.push_back(double(bytes));
    }
  };
  hold(pool, last.live_bytes);
  hold(outside, last.outside_bytes);
  chart.series = {std::move(pool), std::move(outside)};
  const auto guide = [&](const std::string& what, int64_t bytes, reports::ColourRole colour_role) {
    if (bytes > 0)
      chart.guides.push_back({what + " " + reports::format(reports::Unit::bytes, double(bytes)),
                              double(bytes), false, colour_role, true});
  };
  guide("limit", progress.begun.limit_bytes, reports::ColourRole::limit);
  guide("predicted", progress.begun.predicted_peak_bytes, reports::ColourRole::predicted);
  for (size_t i = 0; i < progress.passes_begun.size(); ++i) {
    const auto& [begin, name] = progress.passes_begun[i];
    const double end =
        i + 1 < progress.passes_begun.size() ? progress.passes_begun[i + 1].first : std::max(begin, now);
    chart.spans.push_back({begin, end, name.toStdString()});
  }
  return chart;
}

RunPage::RunPage(Workspace& workspace, QWidget* parent) : Page(parent), workspace_(workspace) {
  auto* sides = new QSplitter(Qt::Horizontal, this);
  sides->setObjectName(QStringLiteral("run"));
  sides->setChildrenCollapsible(false);
  sides->addWidget(buildInputs());
  sides->addWidget(buildOutcome());
  sides->setStretchFactor(0, 0);
  sides->setStretchFactor(1, 1);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 8, 8, 8);
  layout->addWidget(sides);

  refresh_.setInterval(kRefreshMilliseconds);
  connect(&refresh_, &QTimer::timeout, this, &RunPage::refresh);
  typing_.setSingleShot(true);
  typing_.setInterval(kRefreshMilliseconds);
  connect(&typing_, &QTimer::timeout, this, &RunPage::sayMissing);
  connect(form_, &RunForm::changed, &typing_, qOverload<>(&QTimer::start));
  connect(start_, &QPushButton::clicked, this, &RunPage::start);
  connect(form_, &RunForm::submitted, this, &RunPage::start);
  connect(cancel_, &QPushButton::clicked, this, &RunPage::cancel);
  connect(&run_, &ChildRun::stateChanged, this, &RunPage::stateChanged);
  connect(&run_, &ChildRun::messageCame, messages_, [this](const QString& line) {
    messages_->appendPlainText(line);
    messages_->show();
    latent_note_->setText(run_.latentNote());
    show_as_warning(*latent_note_, latent_note_->text().startsWith(QLatin1String("warning")));
    latent_note_->setVisible(!latent_note_->text().isEmpty());
  });
}

QWidget* RunPage::buildInputs() {
  auto* side = new QWidget;
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins({});
  auto* scroll = new QScrollArea(side);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  form_ = new RunForm(workspace_, scroll);
  scroll->setWidget(form_);
  const int bar_width = scroll->verticalScrollBar()->sizeHint().width();
  scroll->setMinimumWidth(std::max(kLeastFormWidth, form_->minimumSizeHint().width() + bar_width));
  column->addWidget(scroll, 1);
  auto* buttons = new QHBoxLayout;
  start_ = new QPushButton(tr("&Start"), side);
  make_primary(*start_);
  start_->setObjectName(QStringLiteral("start"));
  cancel_ = new QPushButton(tr("&Cancel"), side);
  cancel_->setObjectName(QStringLiteral("cancel"));
  cancel_->setToolTip(tr("Asks the program to end, and ends it after three seconds. No output is left."));
  cancel_->setEnabled(false);
  buttons->addWidget(start_, 1);
  buttons->addWidget(cancel_, 1);
  column->addLayout(buttons);
  return side;
}

QWidget* RunPage::buildOutcome() {
  auto* side = new QWidget;
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins({});
  bar_ = new QProgressBar(side);
  bar_->setObjectName(QStringLiteral("progress"));
  bar_->setAccessibleName(tr("Progress"));
  bar_->setRange(0, kBarSteps);
  bar_->setValue(0);
  status_ = paragraph(side);
  status_->setObjectName(QStringLiteral("status"));
  status_->hide();
  report_ = paragraph(side);
  report_->setObjectName(QStringLiteral("report"));
  report_->setAccessibleName(tr("How the run ended"));
  report_->hide();
  look_ = new QPushButton(side);
  look_->setObjectName(QStringLiteral("look"));
  look_->setToolTip(tr("Opens the page that shows the files of this run."));
  look_->hide();
  open_ = new QPushButton(tr("Open the picture"), side);
  open_->setObjectName(QStringLiteral("open-output"));
  open_->setToolTip(tr("Opens the output in the desktop's viewer."));
  open_->hide();
  connect(look_, &QPushButton::clicked, this, [this] { Q_EMIT pageAsked(pageOfResults()); });
  connect(open_, &QPushButton::clicked, this,
          [this] { QDesktopServices::openUrl(QUrl::fromLocalFile(request_.output)); });
  auto* results = new QHBoxLayout;
  results->addWidget(look_);
  results->addWidget(open_);
  results->addStretch();
  latent_note_ = paragraph(side);
  latent_note_->hide();
  latent_note_->setObjectName(QStringLiteral("latent-note"));
  missing_ = paragraph(side);
  missing_->setObjectName(QStringLiteral("missing"));
  missing_->setMargin(24);
  missing_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  column->addWidget(bar_);
  column->addWidget(missing_, 1);
  column->addWidget(latent_note_);
  column->addWidget(status_);
  column->addWidget(report_);
  column->addLayout(results);

  auto* views = new QSplitter(Qt::Vertical, side);
  views->setObjectName(QStringLiteral("run-views"));
  views->setChildrenCollapsible(false);
  memory_ = new ChartView(views);
  memory_->setAccessibleName(tr("Device memory while it runs"));
  memory_->setChart(memory_chart({}, 0));
  picture_ = new PictureView(tr("The picture appears here, tile by tile."), views);
  picture_->setAccessibleName(tr("The picture so far"));
  messages_ = new QPlainTextEdit(views);
  messages_->setObjectName(QStringLiteral("messages"));
  messages_->setAccessibleName(tr("Messages of the program"));
  messages_->setReadOnly(true);
  messages_->setTabChangesFocus(true);
  messages_->setMaximumBlockCount(1000);
  messages_->setMinimumHeight(3 * messages_->fontMetrics().lineSpacing());
  messages_->hide();
  views->addWidget(memory_);
  views->addWidget(picture_);
  views->addWidget(messages_);
  views->setStretchFactor(0, 3);
  views->setStretchFactor(1, 4);
  views->setStretchFactor(2, 1);
  column->addWidget(views, 1);
  views_ = views;
  for (QWidget* of_a_run : {static_cast<QWidget*>(bar_), views_}) of_a_run->hide();
  return side;
}

void RunPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  sayMissing();
}

/// Before the first run, says what the form lacks.
void RunPage::sayMissing() {
  if (!missing_->isVisibleTo(this)) return;
  const QStringList lines = form_->missing();
  missing_->setText(lines.isEmpty()
                        ? tr("All inputs are there. Start runs the program and shows its memory and the "
                             "picture here.")
                        : tr("A run needs these inputs:") + QStringLiteral("\n\n") +
                              lines.join(QLatin1Char('\n')));
}

void RunPage::start() {
  if (run_.running() || !form_->check()) return;
  request_ = form_->request();
  files_ = files_of(request_, folder_.path());
  if (!files_.preview.isEmpty()) QFile::remove(files_.preview);  // of the previous run
  regions_drawn_ = 0;
  picture_->clear();
  messages_->clear();
  messages_->hide();
  latent_note_->hide();
  run_.start(programBeside(program_of(request_)), arguments_of(request_, files_));
}

void RunPage::cancel() {
  run_.cancel();
}

void RunPage::stateChanged(ChildRun::State state) {
  const bool running = run_.running();
  missing_->hide();
  for (QWidget* of_a_run : {static_cast<QWidget*>(bar_), views_}) of_a_run->show();
  QPushButton* const next = running ? cancel_ : start_;
  const bool keyboard_here =
      form_->isAncestorOf(focusWidget()) || focusWidget() == start_ || focusWidget() == cancel_;
  start_->setEnabled(!running);
  cancel_->setEnabled(state == ChildRun::State::running);
  form_->setEnabled(!running);
  if (keyboard_here && next->isEnabled()) next->setFocus();
  if (running) {
    for (QWidget* of_last_run :
         {static_cast<QWidget*>(report_), static_cast<QWidget*>(look_), static_cast<QWidget*>(open_)})
      of_last_run->hide();
    refresh_.start();
    refresh();
    Q_EMIT busyChanged();
    return;
  }
  refresh_.stop();
  refresh();
  const bool done = state == ChildRun::State::done;
  const QStringList results = done ? results_of(request_, files_) : QStringList();
  report_->setText(run_.report() + written(results));
  report_->show();
  const bool measured = request_.kind == RunRequest::Kind::measure;
  look_->setText(measured ? tr("Show the layers") : tr("Show where the memory went"));
  look_->setVisible(done);
  open_->setVisible(done && request_.kind == RunRequest::Kind::decode);
  // The report already contains a failure's last message.
  if (messages_->blockCount() <= 1 && !done) messages_->hide();
  if (done) Q_EMIT message(run_.report());
  Q_EMIT busyChanged();
  workspace_.open(results);
}

QString RunPage::written(const QStringList& files) const {
  QStringList names;
  for (const QString& file : files) {
    if (file != request_.output) names << QFileInfo(file).fileName();
  }
  return names.isEmpty() ? QString() : tr("\nWritten beside it: %1.").arg(names.join(QStringLiteral(", ")));
}

QString RunPage::pageOfResults() const {
  if (request_.kind == RunRequest::Kind::measure) return QStringLiteral("layers");
  return files_.trace.isEmpty() ? QStringLiteral("plan") : QStringLiteral("timeline");
}

void RunPage::refresh() {
  showProgress();
  memory_->setChart(memory_chart(run_.progress(), run_.secondsNow()));
  if (run_.progress().regions == regions_drawn_) return;
  regions_drawn_ = run_.progress().regions;
  picture_->read(files_.preview);
}

void RunPage::showProgress() {
  const RunProgress& progress = run_.progress();
  bar_->setValue(static_cast<int>(progress.share * kBarSteps));
  status_->setVisible(run_.running());
  if (!run_.running()) return;
  if (run_.state() == ChildRun::State::cancelling) {
    status_->setText(run_.report());
    return;
  }
  QStringList parts;
  if (progress.verifying) parts << tr("comparing with another decode");
  if (progress.pass >= 0) parts << tr("pass %1 of %2").arg(progress.pass + 1).arg(progress.passes);
  if (progress.tiles > 1) parts << tr("%1 of %2 tiles").arg(progress.tile).arg(progress.tiles);
  if (progress.steps > 0) parts << step_text(progress);
  parts << (progress.doing.isEmpty() ? tr("starting") : progress.doing);
  if (const std::optional<double> left = run_.secondsLeft())
    parts << tr("%1 left").arg(figure_text(reports::Unit::seconds, *left));
  status_->setText(parts.join(tr(", ")));
}

std::vector<Export> RunPage::exports() {
  return {painting_of(*memory_, QStringLiteral("run-memory"))};
}

namespace {

constexpr qint64 kMostBytes = qint64{8} << 20;  // previews are at most 3 MiB

}  // namespace

PictureView::PictureView(const QString& words, QWidget* parent) : QWidget(parent), words_(words) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

bool PictureView::read(const QString& file) {
  QFile in(file);
  if (!in.open(QIODevice::ReadOnly)) return false;
  const QImage image = QImage::fromData(in.read(kMostBytes), "PPM");
  if (image.isNull()) return false;
  image_ = image;
  update();
  return true;
}

void PictureView::clear() {
  image_ = {};
  update();
}

void PictureView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (image_.isNull()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect().adjusted(8, 8, -8, -8), Qt::AlignCenter | Qt::TextWordWrap, words_);
    return;
  }
  QRect target(QPoint(), image_.size().scaled(size(), Qt::KeepAspectRatio));
  target.moveCenter(rect().center());
  const bool smaller = target.width() < image_.width();
  painter.setRenderHint(QPainter::SmoothPixmapTransform, smaller);
  painter.drawImage(target, image_);
}

}  // namespace headroom::gui
