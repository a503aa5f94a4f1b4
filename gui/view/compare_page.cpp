#include "gui/view/compare_page.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSplitter>
#include <QTabWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/model/figure_text.h"
#include "gui/model/plain_tooltip.h"
#include "gui/view/chart_view.h"
#include "gui/view/plain_label.h"
#include "gui/view/table_view.h"
#include "reports/figures/comparison.h"

namespace headroom::gui {
namespace {

constexpr int kWidestChoice = 440;

std::shared_ptr<const reports::Timeline> timeline_of(const reports::DocumentPtr& document) {
  if (document->as<RecordedTrace>() != nullptr)
    return std::make_shared<reports::Timeline>(reports::measured_timeline(document));
  if (document->as<reports::PlanDocument>() != nullptr)
    return std::make_shared<reports::Timeline>(reports::predicted_timeline(document));
  return nullptr;
}

/// Refills a box; what was chosen stays where it is still there, otherwise `otherwise` is.
void fill(QComboBox& box, std::vector<reports::DocumentPtr>& listed,
          std::vector<reports::DocumentPtr> documents, const reports::DocumentPtr& otherwise) {
  const QSignalBlocker blocker(box);
  const auto at = static_cast<size_t>(std::max(box.currentIndex(), 0));
  const reports::DocumentPtr before = at < listed.size() ? listed[at] : nullptr;
  listed = std::move(documents);
  box.clear();
  for (const reports::DocumentPtr& document : listed) {
    box.addItem(Workspace::titleOf(*document) + " (" + figure_text(reports::kind_of(*document)) + ")");
    box.setItemData(box.count() - 1, plain_tooltip(QString::fromStdString(document->file.string())),
                    Qt::ToolTipRole);
  }
  auto current = std::find(listed.begin(), listed.end(), before);
  if (current == listed.end()) current = std::find(listed.begin(), listed.end(), otherwise);
  box.setCurrentIndex(current == listed.end() ? (listed.empty() ? -1 : 0)
                                              : static_cast<int>(current - listed.begin()));
}

bool same_kind(const reports::DocumentPtr& a, const reports::DocumentPtr& b) {
  return a->contents.index() == b->contents.index();
}

}  // namespace

ComparePage::ComparePage(Workspace& workspace, QWidget* parent) : Page(parent), workspace_(workspace) {
  auto* column = new QVBoxLayout(this);
  column->addWidget(buildChoice());
  words_ = new PlainLabel(this);
  words_->setObjectName("words");
  words_->setAlignment(Qt::AlignCenter);
  words_->setWordWrap(true);
  column->addWidget(words_, 1);
  halves_ = new QSplitter(Qt::Vertical, this);
  halves_->setObjectName("compare");
  tabs_ = new QTabWidget(halves_);
  timelines_ = buildTimelines();
  halves_->addWidget(timelines_);
  tabs_->setMinimumHeight(14 * fontMetrics().lineSpacing());  // headings and some rows, the furthest apart
  column->addWidget(halves_, 4);
  connect(&workspace_, &Workspace::documentsChanged, this, &ComparePage::listDocuments);
  connect(&job_, &LatestJob::busyChanged, this, &Page::busyChanged);
  listDocuments();
}

QWidget* ComparePage::buildChoice() {
  auto* bar = new QWidget(this);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins({});
  const auto box = [&](const QString& label, const char* name) {
    auto* text = new PlainLabel(label, bar);
    auto* list = new QComboBox(bar);
    list->setObjectName(name);
    list->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    list->setMinimumContentsLength(16);
    list->setMaximumWidth(kWidestChoice);
    text->setBuddy(list);
    row->addWidget(text);
    row->addWidget(list, 1);
    return list;
  };
  first_ = box(tr("&A"), "first");
  auto* swap = new QToolButton(bar);
  swap->setText("⇄");
  swap->setToolTip(tr("Swap A and B"));
  swap->setAccessibleName(tr("Swap A and B"));
  row->addWidget(swap);
  second_ = box(tr("&B"), "second");
  row->addStretch();
  connect(first_, &QComboBox::currentIndexChanged, this, &ComparePage::listSecond);
  connect(second_, &QComboBox::currentIndexChanged, this, &ComparePage::compareChosen);
  connect(swap, &QToolButton::clicked, this, [this] {
    const reports::DocumentPtr a = chosen(first_, first_listed_), b = chosen(second_, second_listed_);
    if (a == nullptr || b == nullptr) return;
    const QSignalBlocker blocker(first_);
    first_->setCurrentIndex(
        static_cast<int>(std::find(first_listed_.begin(), first_listed_.end(), b) - first_listed_.begin()));
    second_listed_.clear();
    listSecond();
    second_->setCurrentIndex(static_cast<int>(std::find(second_listed_.begin(), second_listed_.end(), a) -
                                              second_listed_.begin()));
  });
  return bar;
}

QWidget* ComparePage::buildTimelines() {
  auto* both = new QSplitter(Qt::Vertical, this);
  both->setObjectName("compare-timelines");
  first_chart_ = new ChartView(both);
  second_chart_ = new ChartView(both);
  both->setChildrenCollapsible(false);
  link(first_chart_, second_chart_);
  link(second_chart_, first_chart_);
  return both;
}

/// Both charts show the same range of time.
void ComparePage::link(ChartView* from, ChartView* to) {
  connect(from, &ChartView::rangeChanged, this, [this, to](double begin, double end) {
    if (linking_) return;
    linking_ = true;
    to->setVisibleRange(begin, end);
    linking_ = false;
  });
  connect(from, &ChartView::cursorMoved, to, [to](double x) { to->setCursor(x); });
}

reports::DocumentPtr ComparePage::chosen(const QComboBox* box,
                                         const std::vector<reports::DocumentPtr>& listed) const {
  const int at = box->currentIndex();
  return at < 0 || static_cast<size_t>(at) >= listed.size() ? nullptr : listed[static_cast<size_t>(at)];
}

/// All documents as the first; a pair that was opened last where nothing was chosen yet.
void ComparePage::listDocuments() {
  const std::vector<reports::DocumentPtr>& open = workspace_.documents();
  reports::DocumentPtr paired;
  for (size_t b = open.size(); b-- > 0 && paired == nullptr;) {
    for (size_t a = b; a-- > 0 && paired == nullptr;) {
      if (same_kind(open[a], open[b])) paired = open[a];
    }
  }
  // One that has nothing beside it gives way to a pair.
  const reports::DocumentPtr now = chosen(first_, first_listed_);
  if (now != nullptr && second_listed_.empty() && paired != nullptr && !same_kind(now, paired))
    first_listed_.clear();
  fill(*first_, first_listed_, open, paired);
  listSecond();
}

void ComparePage::listSecond() {
  const reports::DocumentPtr first = chosen(first_, first_listed_);
  std::vector<reports::DocumentPtr> others;
  for (const reports::DocumentPtr& document : workspace_.documents()) {
    if (first != nullptr && document != first && same_kind(document, first)) others.push_back(document);
  }
  const reports::DocumentPtr newest = others.empty() ? nullptr : others.back();
  fill(*second_, second_listed_, std::move(others), newest);
  compareChosen();
}

void ComparePage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  compareChosen();
}

void ComparePage::compareChosen() {
  const reports::DocumentPtr a = chosen(first_, first_listed_), b = chosen(second_, second_listed_);
  if (a == nullptr || b == nullptr) {
    compared_first_ = compared_second_ = nullptr;
    job_.forget();
    return say(a == nullptr ? tr("Open two files of one kind to compare them.")
                            : tr("Open another file of this kind to compare with: %1")
                                  .arg(figure_text(reports::kind_of(*a))));
  }
  if (!isVisible() || (a == compared_first_ && b == compared_second_)) return;
  compared_first_ = a;
  compared_second_ = b;
  job_.start([a, b] { return work(a, b); }, [this](const Comparison& comparison) { take(comparison); },
             [this](const QString& failure) { say(failure); });
}

ComparePage::Comparison ComparePage::work(const reports::DocumentPtr& a, const reports::DocumentPtr& b) {
  return {reports::compare(*a, *b), timeline_of(a), timeline_of(b)};
}

void ComparePage::take(const Comparison& comparison) {
  words_->hide();
  halves_->show();
  while (tables_.size() > comparison.tables.size()) {
    delete tables_.back();
    tables_.pop_back();
  }
  for (size_t i = 0; i < comparison.tables.size(); ++i) {
    const reports::Table& table = comparison.tables[i];
    const QString title = figure_text(table.title);
    if (i == tables_.size()) {
      tables_.push_back(new TableView(tabs_));
      tabs_->addTab(tables_.back(), title);
    }
    tables_[i]->setTable(table);
    tabs_->setTabText(static_cast<int>(i), title);
  }
  timelines_->setVisible(comparison.a != nullptr && comparison.b != nullptr);
  if (comparison.a == nullptr || comparison.b == nullptr) return;
  const double end = std::max(comparison.a->end_seconds(), comparison.b->end_seconds());
  const auto highest = [](const reports::Timeline& timeline) {
    return double(timeline.total_bytes(timeline.peak()));
  };
  const auto show = [&](ChartView* chart, const TimelinePtr& timeline, const reports::DocumentPtr& document,
                        const reports::Timeline& beside, const QString& peak_of_beside) {
    const std::string name = Workspace::titleOf(*document).toStdString();
    std::vector<reports::Guide> guides;
    if (highest(beside) > highest(*timeline))
      guides.push_back({peak_of_beside.toStdString(), highest(beside), false, reports::ColourRole::other});
    chart->setSource(0, end, [timeline, name, guides](double from, double to, size_t columns) {
      reports::Chart drawn = reports::timeline_chart(*timeline, name, from, to, columns);
      drawn.guides.insert(drawn.guides.end(), guides.begin(), guides.end());
      return drawn;
    });
  };
  linking_ = true;
  show(first_chart_, comparison.a, compared_first_, *comparison.b, tr("peak of B"));
  show(second_chart_, comparison.b, compared_second_, *comparison.a, tr("peak of A"));
  to_one_height({first_chart_, second_chart_});
  linking_ = false;
}

void ComparePage::say(const QString& words) {
  words_->setText(words);
  words_->show();
  halves_->hide();
}

std::vector<Export> ComparePage::exports() {
  std::vector<Export> list;
  if (halves_->isHidden()) return list;
  for (size_t i = 0; i < tables_.size(); ++i)
    list.push_back(tables_[i]->exporter(QString("compare-%1").arg(i + 1)));
  if (!timelines_->isHidden()) {
    list.push_back(first_chart_->exporter("timeline-a"));
    list.push_back(second_chart_->exporter("timeline-b"));
  }
  return list;
}

}  // namespace headroom::gui
