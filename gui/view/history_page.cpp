#include "gui/view/history_page.h"

#include <QComboBox>
#include <QGroupBox>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QSplitter>
#include <QStackedWidget>
#include <QStyle>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/model/figure_text.h"
#include "gui/model/groundwork.h"
#include "gui/view/chart_view.h"
#include "gui/view/plain_text.h"
#include "gui/view/record_box.h"
#include "gui/view/request_form.h"
#include "gui/view/table_view.h"

namespace headroom::gui {
namespace {

constexpr size_t kMostShownTensors = 2000;

/// The report's sentences, which stay English in every language of the window.
QString paragraphs(const std::vector<std::string>& sentences) {
  QStringList list;
  for (const std::string& sentence : sentences) list << QString::fromStdString(sentence);
  return list.join(QStringLiteral("\n\n"));
}

}  // namespace

HistoryPage::HistoryPage(Workspace& workspace, QWidget* parent)
    : Page(parent), workspace_(workspace), stack_(new QStackedWidget(this)) {
  auto* nothing = new QWidget(this);
  auto* record = new RecordBox(workspace_, nothing);
  record->setMaximumWidth(760);
  connect(record, &RecordBox::openAsked, this, &Page::openAsked);
  auto* only = new QVBoxLayout(nothing);
  only->setContentsMargins(40, 40, 40, 40);
  only->addWidget(record);
  only->addStretch();
  auto* columns = new QSplitter(Qt::Horizontal);
  columns->setObjectName(QStringLiteral("history"));
  columns->addWidget(buildSide());
  columns->addWidget(buildMiddle());
  columns->setStretchFactor(0, 0);
  columns->setStretchFactor(1, 1);
  columns->setChildrenCollapsible(false);
  stack_->addWidget(nothing);
  stack_->addWidget(columns);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 8, 8, 8);
  layout->addWidget(stack_);
  connect(&workspace_, &Workspace::documentsChanged, this, &HistoryPage::showDocument);
  connect(&workspace_, &Workspace::questionChanged, this, &HistoryPage::work);
  connect(&job_, &Job::busyChanged, this, &Page::busyChanged);
  showDocument();
}

bool HistoryPage::busy() const {
  return job_.busy();
}

QWidget* HistoryPage::buildSide() {
  auto* area = new QScrollArea(this);
  auto* side = new QWidget(area);
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins({});
  devices_ = new QComboBox(side);
  devices_->setObjectName(QStringLiteral("device"));
  devices_->setAccessibleName(tr("Device"));
  column->addWidget(devices_);
  words_ = paragraph(side);
  words_->setObjectName(QStringLiteral("words"));
  column->addWidget(words_);
  auto* beside = new QGroupBox(tr("What Headroom would need"), side);
  auto* rows = new QVBoxLayout(beside);
  need_words_ = paragraph(beside);
  need_words_->setObjectName(QStringLiteral("need"));
  rows->addWidget(need_words_);
  rows->addWidget(new RequestForm(workspace_, beside, RequestForm::Rows::first));
  column->addWidget(beside);
  column->addStretch();
  area->setWidget(side);
  area->setWidgetResizable(true);
  area->setFrameShape(QFrame::NoFrame);
  area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  area->setMinimumWidth(
      std::max(300, side->minimumSizeHint().width() + style()->pixelMetric(QStyle::PM_ScrollBarExtent)));
  connect(devices_, &QComboBox::currentIndexChanged, this, &HistoryPage::showDevice);
  return area;
}

QWidget* HistoryPage::buildMiddle() {
  auto* halves = new QSplitter(Qt::Vertical, this);
  halves->setObjectName(QStringLiteral("history-halves"));
  halves->setChildrenCollapsible(false);
  chart_ = new ChartView(halves);
  chart_->setPinnable(true);
  chart_->setToolTip(
      tr("A click holds the cursor, another lets it go. Wheel: zoom, drag: pan, double click: all."));
  halves->addWidget(buildTables());
  halves->setStretchFactor(0, 1);
  halves->setStretchFactor(1, 1);
  connect(chart_, &ChartView::cursorMoved, this, [this](double x) { lookAt(x, true); });
  return halves;
}

QWidget* HistoryPage::buildTables() {
  auto* below = new QWidget(this);
  auto* column = new QVBoxLayout(below);
  column->setContentsMargins({});
  auto* bar = new QHBoxLayout;
  peak_ = new QPushButton(tr("&Go to the peak"), below);
  last_ = new QPushButton(tr("Go to the &last request"), below);
  caption_ = new PlainLabel(below);
  caption_->setObjectName(QStringLiteral("caption"));
  bar->addWidget(peak_);
  bar->addWidget(last_);
  bar->addWidget(caption_, 1);
  column->addLayout(bar);
  auto* tabs = new QTabWidget(below);
  tabs->setDocumentMode(true);
  const auto add = [&](const QString& title, const char* name) {
    auto* table = new TableView(tabs);
    table->setObjectName(QLatin1String(name));
    tabs->addTab(table, title);
    return table;
  };
  tabs->addTab(buildTensors(), tr("Live tensors"));  // first: it names who holds the memory, largest first
  modules_ = add(tr("Live by module"), "modules");
  need_table_ = add(tr("What Headroom needs"), "need-table");
  need_table_->hideFilter();
  column->addWidget(tabs, 1);
  connect(peak_, &QPushButton::clicked, this, &HistoryPage::goToPeak);
  connect(last_, &QPushButton::clicked, this, &HistoryPage::goToLastRequest);
  return below;
}

/// The tensors, and the whole stack of the chosen row.
QWidget* HistoryPage::buildTensors() {
  auto* sides = new QSplitter(Qt::Horizontal, this);
  sides->setObjectName(QStringLiteral("history-tensors"));
  sides->setChildrenCollapsible(false);
  tensors_ = new TableView(sides);
  tensors_->setObjectName(QStringLiteral("tensors"));
  whole_stack_ = new QPlainTextEdit(sides);
  whole_stack_->setObjectName(QStringLiteral("whole-stack"));
  whole_stack_->setAccessibleName(tr("Whole stack of the chosen row"));
  whole_stack_->setPlaceholderText(tr("Click a row to see its whole stack, the innermost call first."));
  whole_stack_->setReadOnly(true);
  whole_stack_->setTabChangesFocus(true);
  whole_stack_->setLineWrapMode(QPlainTextEdit::NoWrap);
  sides->setSizes({700, 220});
  connect(tensors_, &TableView::rowChosen, this, &HistoryPage::showStack);
  return sides;
}

/// Tensors that the recording has no stack for are in no row of live_, or have an empty stack.
void HistoryPage::showStack(int row) {
  QStringList lines;
  if (history() != nullptr && row >= 0 && row < std::ssize(live_) &&
      row < std::ssize(tensors_->table().rows)) {
    for (const std::string& line :
         profiler::lines_of(history()->stacks, live_[static_cast<size_t>(row)].stack))
      lines << QString::fromStdString(line);
    if (lines.isEmpty()) lines << tr("No stack was recorded for these tensors.");
  }
  whole_stack_->setPlainText(lines.join(QLatin1Char('\n')));
}

const profiler::MemoryHistory* HistoryPage::history() const {
  return document_ == nullptr ? nullptr : document_->as<profiler::MemoryHistory>();
}

const profiler::DeviceHistory* HistoryPage::device() const {
  const int chosen = devices_->currentIndex();
  if (history() == nullptr || chosen < 0) return nullptr;
  return &history()->devices[static_cast<size_t>(chosen)];
}

const DeviceRecord& HistoryPage::record() const {
  const std::string& name = device()->device;  // such as cuda:0
  const DeviceRecord* found = find_device(name.substr(0, name.find(':')));
  return found == nullptr ? all_devices().front() : *found;
}

void HistoryPage::showDocument() {
  const reports::DocumentPtr document = workspace_.chosen<profiler::MemoryHistory>();
  stack_->setCurrentIndex(document == nullptr ? 0 : 1);
  if (document == document_) return;
  document_ = document;
  {
    const QSignalBlocker quiet(devices_);
    devices_->clear();
    if (history() != nullptr) {
      for (const profiler::DeviceHistory& one : history()->devices)
        devices_->addItem(QString::fromStdString(one.device));
      devices_->setCurrentIndex(static_cast<int>(history()->main_device()));
    }
    devices_->setVisible(devices_->count() > 1);
  }
  showDevice();
}

void HistoryPage::showDevice() {
  moment_.reset();
  if (device() == nullptr) return;
  words_->setText(paragraphs(reports::history_sentences(*history(), *device())));
  const double end = reports::history_end(*device());
  const std::string heading = Workspace::titleOf(*document_).toStdString() + ", " + device()->device;
  chart_->setPinned(false);
  chart_->setSource(0, end,
                    [document = document_, number = static_cast<size_t>(devices_->currentIndex()), heading](
                        double begin, double until, size_t columns) {
                      const auto& recorded = *document->as<profiler::MemoryHistory>();
                      reports::Chart chart =
                          reports::history_chart(recorded.devices[number], begin, until, columns);
                      chart.title = heading;
                      return chart;
                    });
  last_->setVisible(reports::last_request(*device()).has_value());
  showNeed();
  goToPeak();
  work();
}

void HistoryPage::goToPeak() {
  if (device() != nullptr) lookAt(reports::history_place(*device(), device()->peak()), false);
  if (device() != nullptr) showMoment(device()->peak());
}

void HistoryPage::goToLastRequest() {
  if (device() == nullptr) return;
  if (const auto last = reports::last_request(*device())) {
    lookAt(reports::history_place(*device(), last->moment), false);
    showMoment(last->moment);
  }
}

void HistoryPage::lookAt(double x, bool whole_column) {
  if (device() == nullptr) return;
  chart_->setCursor(x);
  const std::vector<int64_t>& bytes = device()->allocated_bytes;
  const size_t begin = reports::history_moment(*device(), x);
  const size_t end =
      whole_column ? reports::history_moment(*device(), x + chart_->columnWidth()) + 1 : begin + 1;
  const auto highest = std::max_element(bytes.begin() + static_cast<ptrdiff_t>(begin),
                                        bytes.begin() + static_cast<ptrdiff_t>(std::max(end, begin + 1)));
  showMoment(static_cast<size_t>(highest - bytes.begin()));
}

void HistoryPage::showMoment(size_t moment) {
  if (moment_ == moment) return;
  moment_ = moment;
  const bool timed = !device()->seconds.empty();
  caption_->setText(
      tr("Live %1: %2")
          .arg(timed ? tr("after %1").arg(figure_text(reports::Unit::seconds, device()->seconds[moment]))
                     : tr("at record %1").arg(moment),
               figure_text(reports::Unit::bytes, double(device()->allocated_bytes[moment]))));
  modules_->setTable(reports::history_modules_table(*history(), *device(), moment));
  live_ = reports::live_stacks(*device(), moment);
  live_.resize(std::min(live_.size(), kMostShownTensors));
  showStack(-1);
  tensors_->setTable(reports::history_tensors_table(*history(), *device(), moment, kMostShownTensors));
}

void HistoryPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  work();
}

/// Computes the need for a new question. Runs only while visible and with an open recording. The initial
/// question gets the recorded device and no answer, since nobody has chosen its decoder.
void HistoryPage::work() {
  const PlanningQuestion question = workspace_.question();
  if (!isVisible() || device() == nullptr || question.request.width_pixels <= 0) return;
  if (question.by_default) {
    askAboutRecording(question);
    return;
  }
  if (asked_ && same_but_limit(question, *asked_)) return;
  asked_ = question;
  need_.reset();
  fault_.clear();
  showNeed();
  job_.start(
      [question](const Job::Turn&) {
        const Model model = model_of(question);
        planner::PlanOptions options = question.options;
        options.limit_bytes = 0;
        return reports::decoder_need(model, question.request, options,
                                     planner::costs_of(model.graph, asked_of(question)));
      },
      [this](const reports::DecoderNeed& need) {
        need_ = need;
        showNeed();
      },
      [this](const QString& fault) {
        fault_ = fault;
        showNeed();
      });
}

/// Asks for plans on the recorded device, for a model of the class that decoded.
void HistoryPage::askAboutRecording(PlanningQuestion question) {
  const Request before = question.request;
  const std::vector<std::string> models = reports::recognised_models(*history(), *device());
  if (!models.empty() && std::find(models.begin(), models.end(), before.model) == models.end())
    question.request.model = reports::likely_model(*history(), *device());
  question.request.device = record().kind;
  if (!(question.request == before)) workspace_.ask(question);
}

/// A plan from a file may be of another decode than the recording. Empty if the user chose the decode.
QString HistoryPage::ofOpenPlan() const {
  const reports::DocumentPtr plan = workspace_.chosen<reports::PlanDocument>();
  if (plan == nullptr || workspace_.isUsed(*plan)) return {};
  if (!(workspace_.questionInFile(*plan->as<reports::PlanDocument>()).request == need_->request)) return {};
  return tr("This is the decode of the open plan %1. If the recording is of another decode, choose its model "
            "and "
            "size below.")
             .arg(Workspace::titleOf(*plan)) +
         QStringLiteral("\n\n");
}

void HistoryPage::showNeed() {
  if (device() == nullptr) return;
  if (!need_) {
    need_words_->setText(!asked_            ? tr("Choose the decoder and the size of the picture.")
                         : fault_.isEmpty() ? tr("Searching plans…")
                                            : fault_);
    need_table_->setTable({});
    return;
  }
  const std::string other = reports::class_mismatch(*need_, history()->stacks, *device());
  if (!other.empty()) {
    need_words_->setText(QString::fromStdString(other));
    need_table_->setTable({});
    return;
  }
  need_words_->setText(ofOpenPlan() +
                       paragraphs(reports::need_sentences(*need_, history()->stacks, *device(), {})));
  need_table_->setTable(reports::need_table(*need_, reports::available_bytes(*device())));
}

std::vector<Export> HistoryPage::exports() {
  if (device() == nullptr) return {};
  std::vector<Export> all{painting_of(*chart_, title()), modules_->exporter(tr("Live by module")),
                          tensors_->exporter(tr("Live tensors"))};
  if (need_) all.push_back(need_table_->exporter(tr("What Headroom needs")));
  return all;
}

}  // namespace headroom::gui
