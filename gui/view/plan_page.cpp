#include "gui/view/plan_page.h"

#include <QFrame>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "gui/model/figure_text.h"
#include "gui/model/workspace.h"
#include "gui/view/beside_box.h"
#include "gui/view/empty_page.h"
#include "gui/view/grid_view.h"
#include "gui/view/lower_peak_box.h"
#include "gui/view/plain_text.h"
#include "gui/view/table_view.h"
#include "planner/explain/analyze.h"
#include "planner/explain/explain.h"
#include "reports/figures/comparison.h"
#include "reports/figures/passes.h"
#include "reports/figures/peak.h"
#include "reports/figures/ranks.h"

namespace headroom::gui {
namespace {

using nlohmann::json;

QString text_of(const json& value) {
  return figure_text(value.get<std::string>());
}

QString bytes_of(const json& value) {
  return figure_text(reports::Unit::bytes, value.get<double>());
}

bool is_on_device(const json& entry) {
  return entry["tier"] == name_of(MemoryTier::device);
}

QString read_line(const json& read) {
  QString line = PassTree::tr("read %1").arg(text_of(read["tensor"]));
  if (!is_on_device(read)) {
    line += PassTree::tr(" from %1, %2 at a time").arg(text_of(read["tier"]), bytes_of(read["window_bytes"]));
  }
  return read.value("last_time", false) ? PassTree::tr("%1 (for the last time)").arg(line) : line;
}

QString keep_line(const json& keep) {
  QString line = PassTree::tr("keep %1, %2").arg(text_of(keep["tensor"]), bytes_of(keep["bytes"]));
  if (is_on_device(keep)) {
    line += PassTree::tr(" on the device");
  } else {
    line += PassTree::tr(" in %1, at most %2 of it on the device")
                .arg(text_of(keep["tier"]), bytes_of(keep["window_bytes"]));
  }
  if (keep.contains("rows")) line += PassTree::tr(", rows before row %1").arg(keep["rows"][1].get<int>());
  line += PassTree::tr(", until pass %1").arg(keep["last_pass"].get<int>());
  if (keep.contains("in_place_of"))
    line += PassTree::tr(", in place of %1").arg(text_of(keep["in_place_of"]));
  return line;
}

QStringList lines_of(const json& explained, const Pass& pass, const Graph& graph) {
  QStringList lines;
  QString weights = PassTree::tr("weights %1").arg(bytes_of(explained["weights_bytes"]));
  if (pass.convolutions.algorithm == ConvolutionAlgorithm::winograd)
    weights += PassTree::tr(", kernels in Winograd form");
  if (!pass.convolutions.direct.empty())
    weights += PassTree::tr(", but for %1").arg(QString::fromStdString(planner::direct_names(pass, graph)));
  lines << weights;
  for (const json& read : explained["reads"]) lines << read_line(read);
  for (const Step& step : pass.steps)
    lines << with_short_names(QString::fromStdString(planner::step_text(step, graph)));
  for (const json& keep : explained["keeps"]) lines << keep_line(keep);
  return lines;
}

}  // namespace

PassTree::PassTree(QWidget* parent) : QTreeWidget(parent) {
  setHeaderLabels({tr("Pass"), tr("Peak"), tr("Time")});
  setUniformRowHeights(true);
  header()->setStretchLastSection(false);
  header()->setSectionResizeMode(0, QHeaderView::Stretch);
  header()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
  header()->setSectionResizeMode(2, QHeaderView::ResizeToContents);
}

void PassTree::setPlan(const reports::DocumentPtr& document) {
  clear();
  if (document == nullptr) return;
  const auto& [plan, model, found] = *document->as<reports::PlanDocument>();
  const json explained = planner::explain_json(plan, model);
  const auto decides = std::max_element(
      plan.passes.begin(), plan.passes.end(),
      [](const Pass& a, const Pass& b) { return a.predicted_peak_bytes < b.predicted_peak_bytes; });
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    const Pass& pass = plan.passes[i];
    const QString peak = figure_text(reports::Unit::bytes, double(pass.predicted_peak_bytes));
    const bool decides_peak = &pass == &*decides;
    auto* item = new QTreeWidgetItem(this, {QString("%1  %2").arg(i).arg(figure_text(pass.name)),
                                            decides_peak ? tr("%1 ◀").arg(peak) : peak,
                                            figure_text(reports::Unit::seconds, pass.predicted_seconds)});
    item->setToolTip(0, plain_tooltip(QString("%1  %2").arg(i).arg(QString::fromStdString(pass.name))));
    if (decides_peak) item->setToolTip(1, tr("The highest of all passes: it decides the peak."));
    for (const int column : {1, 2}) item->setTextAlignment(column, Qt::AlignRight | Qt::AlignVCenter);
    for (const QString& line : lines_of(explained["passes"][i], pass, model.graph)) {
      auto* below = new QTreeWidgetItem(item, {with_short_names(line)});
      below->setToolTip(0, plain_tooltip(line));
      below->setFirstColumnSpanned(true);
    }
  }
}

int PassTree::pass() const {
  QTreeWidgetItem* item = currentItem();
  if (item != nullptr && item->parent() != nullptr) item = item->parent();
  return indexOfTopLevelItem(item);
}

void PassTree::choosePass(int pass) {
  if (pass != this->pass()) setCurrentItem(topLevelItem(pass));
}

namespace {

/// Says if the pixels equal the untiled decode's: by the run's comparison if there is one, else by the plan.
QString pixels_words(const Plan& plan, const RunStats* run) {
  if (run != nullptr && run->verification) {
    const QString error = QString::number(run->verification->largest_error_relative, 'e', 1);
    return (run->verification->with_untiled()
                ? PlanPage::tr(
                      "Picture: compared with the untiled decode. Values differ by at most %1 of the "
                      "largest value.")
                : PlanPage::tr("Picture: compared with another plan's decode. Values differ by at most %1 of "
                               "the largest value."))
        .arg(error);
  }
  if (!plan.exact) return PlanPage::tr("Picture: differs from the untiled one. The plan is approximate.");
  const std::string rounding = rounding_of(plan.request);
  if (rounding.empty())
    return PlanPage::tr(
        "Picture: the same as without tiles, by construction. A run with --verify checks it.");
  return PlanPage::tr(
             "Picture: the same as without tiles, by construction, except for rounding in %1. A run "
             "with --verify checks it.")
      .arg(QString::fromStdString(rounding));
}

/// The measured peak and time of a run. Its table has the peaks of the decode alone.
QString run_words(const reports::Document& run) {
  const RunStats& stats = *run.as<RunStats>();
  const QString name = QString::fromStdString(run.file.filename().string());
  const QString seconds = figure_text(reports::Unit::seconds, stats.seconds);
  const auto bytes = [](int64_t count) { return figure_text(reports::Unit::bytes, double(count)); };
  if (!reports::has_parts(stats))
    return PlanPage::tr("Run %1: measured peak %2, time %3.").arg(name, bytes(stats.peak_bytes), seconds);
  return PlanPage::tr(
             "Run %1: measured peak %2, time %3. The peak has %4 of the decode and %5 of other process "
             "memory. The measured peaks of passes are of the decode alone.")
      .arg(name, bytes(stats.peak_bytes), seconds, bytes(stats.pool_peak_bytes), bytes(stats.outside_bytes));
}

constexpr int kOwnTabs = 3;  ///< tabs of every plan; tables of comparisons follow

}  // namespace

PlanPage::PlanPage(Workspace& workspace, QWidget* parent) : Page(parent), workspace_(workspace) {
  stack_ = new QStackedWidget(this);
  stack_->addWidget(
      empty_page(*this,
                 tr("This page shows a plan: its passes, their tiles, and the tensors that it keeps between "
                    "passes. No plan is open."),
                 {{tr("&Plan a decode"), QStringLiteral("frontier")}}));
  stack_->addWidget(buildViews());
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(stack_);
  connect(&workspace_, &Workspace::documentsChanged, this, &PlanPage::refresh);
  refresh();
}

QWidget* PlanPage::buildViews() {
  auto* views = new QWidget(stack_);
  auto* column = new QVBoxLayout(views);
  column->setContentsMargins({});
  used_ = new UsedPlanBar(workspace_, views);
  connect(used_, &UsedPlanBar::runAsked, this, [this] { Q_EMIT pageAsked(QStringLiteral("run")); });
  connect(used_, &UsedPlanBar::message, this, &Page::message);
  column->addWidget(used_);
  summary_ = new PlainLabel(views);
  summary_->setWordWrap(true);
  summary_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  auto* row = new QHBoxLayout;
  row->addWidget(summary_, 1);
  row->addWidget(new BesideBox(workspace_, /*traces=*/false, views), 0, Qt::AlignTop);
  column->addLayout(row);
  auto* halves = new QSplitter(Qt::Vertical, views);
  halves->setObjectName("plan-halves");
  auto* top = new QSplitter(Qt::Horizontal, halves);
  top->setObjectName("plan-views");
  tree_ = new PassTree(top);
  tree_->setObjectName("passes");
  tree_->setAccessibleName(tr("Passes"));
  grid_ = new GridView(top);
  tree_->setMinimumWidth(48 * fontMetrics().averageCharWidth());  // room for the numbers and half a name
  top->setStretchFactor(0, 2);
  top->setStretchFactor(1, 2);
  tabs_ = new QTabWidget(halves);
  tabs_->setDocumentMode(true);
  table_ = new TableView(tabs_);
  table_->setObjectName("plan-passes");
  kept_ = new TableView(tabs_);
  kept_->setObjectName("plan-kept");
  tabs_->addTab(table_, tr("Passes"));
  tabs_->addTab(kept_, tr("Kept tensors"));
  lower_ = new LowerPeakBox(workspace_, tabs_);
  tabs_->addTab(lower_, tr("What would lower the peak"));
  connect(lower_, &LowerPeakBox::used, this, [this] { Q_EMIT pageAsked(key()); });
  connect(lower_, &LowerPeakBox::busyChanged, this, &Page::busyChanged);
  connect(&job_, &Job::busyChanged, this, &Page::busyChanged);
  halves->setStretchFactor(0, 3);
  halves->setStretchFactor(1, 2);
  column->addWidget(halves, 1);
  connect(tree_, &PassTree::currentItemChanged, this, [this] { choosePass(tree_->pass()); });
  connect(table_, &TableView::rowChosen, this, &PlanPage::choosePass);  // row numbers are pass numbers
  return views;
}

void PlanPage::refresh() {
  const reports::DocumentPtr plan = workspace_.chosen<reports::PlanDocument>();
  const reports::DocumentPtr run = plan == nullptr ? nullptr : run_of_plan(workspace_, plan);
  const bool other = plan != plan_;
  const reports::DocumentPtr& open = workspace_.beside();
  const reports::DocumentPtr beside = open != nullptr && open->as<reports::PlanDocument>() ? open : nullptr;
  const bool same = !other && run == run_ && beside == beside_;
  plan_ = plan;
  beside_ = beside;
  listTables();
  if (same) return;
  run_ = run;
  used_->showPlan(plan_);
  // One rank's plan cannot be planned again from its request alone, so it gets no remedies.
  lower_->showPlan(plan_ == nullptr ? PlanningQuestion{} : workspace_.questionOf(plan_),
                   plan_ == nullptr || plan_->rank ? nullptr : plan_);
  tabs_->setTabVisible(tabs_->indexOf(lower_), plan_ != nullptr && !plan_->rank);
  stack_->setCurrentIndex(plan_ == nullptr ? 0 : 1);
  if (plan_ == nullptr) {
    tree_->setPlan(nullptr);
    grid_->setPass(nullptr, 0);
    pass_ = -1;
    return;
  }
  const auto& document = *plan_->as<reports::PlanDocument>();
  QString words = QString::fromStdString(reports::summary(*plan_) + ", " + planner::gap_text(document.plan));
  summary_->setToolTip(
      plain_tooltip(tr("Model: %1").arg(QString::fromStdString(document.plan.request.model))));
  if (run_ != nullptr) words += "\n" + run_words(*run_);
  if (beside_ != nullptr)
    words +=
        "\n" + tr("Beside %1: %2")
                   .arg(Workspace::titleOf(*beside_), QString::fromStdString(reports::summary(*beside_)));
  summary_->setText(words + "\n" +
                    pixels_words(document.plan, run_ == nullptr ? nullptr : run_->as<RunStats>()));
  table_->setTable(reports::passes_table(document, run_ == nullptr ? nullptr : run_->as<RunStats>()));
  if (!other) return;
  pass_ = -1;
  tree_->setPlan(plan_);
  kept_->setTable(reports::kept_table(document));
  const auto highest = std::max_element(
      document.plan.passes.begin(), document.plan.passes.end(),
      [](const Pass& a, const Pass& b) { return a.predicted_peak_bytes < b.predicted_peak_bytes; });
  choosePass(static_cast<int>(highest - document.plan.passes.begin()));
}

/// Fills the tables of differences from the plan beside it. For one rank's plan, adds a table of all ranks.
void PlanPage::listTables() {
  std::vector<reports::DocumentPtr> documents;
  for (const reports::DocumentPtr& document : workspace_.documents()) {
    if (plan_ == nullptr || !plan_->rank) break;
    const std::vector<reports::DocumentPtr>& parts = document->ranks;
    const RunStats* stats = document->as<RunStats>();
    const bool run =
        document->as<reports::TracesDocument>() != nullptr || (stats != nullptr && !stats->ranks.empty());
    if (run || std::find(parts.begin(), parts.end(), plan_) != parts.end()) documents.push_back(document);
  }
  std::vector<reports::DocumentPtr> tabled = documents;
  if (beside_ != nullptr) tabled.insert(tabled.end(), {plan_, beside_});
  if (tabled == tabled_) return;
  tabled_ = tabled;
  job_.start(
      [documents, plan = plan_, beside = beside_](const Job::Turn&) {
        std::vector<reports::Table> tables;
        if (beside != nullptr) tables = reports::compare(*plan, *beside);
        for (const reports::SharedRun& run : reports::shared_runs(documents)) {
          if (run.plan != nullptr) tables.push_back(reports::ranks_table(run));
        }
        return tables;
      },
      [this](const std::vector<reports::Table>& tables) { showTables(tables); },
      [this](const QString& failure) { Q_EMIT message(failure); });
}

void PlanPage::showTables(const std::vector<reports::Table>& tables) {
  while (tabs_->count() > kOwnTabs) delete tabs_->widget(kOwnTabs);
  for (const reports::Table& table : tables) {
    auto* view = new TableView(tabs_);
    view->setTable(table);
    tabs_->addTab(view, figure_text(table.title.substr(0, table.title.find(','))));
  }
}

void PlanPage::choosePass(int pass) {
  if (plan_ == nullptr || pass < 0 || pass >= tree_->topLevelItemCount() || pass == pass_) return;
  pass_ = pass;
  grid_->setPass(plan_, static_cast<size_t>(pass));
  tree_->choosePass(pass);
  table_->chooseRow(pass);
}

void PlanPage::showLowerPeak() {
  tabs_->setCurrentWidget(lower_);
}

void PlanPage::chooseTile(int tile) {
  grid_->setTile(tile);
}

bool PlanPage::busy() const {
  return lower_->busy() || job_.busy();
}

std::vector<Export> PlanPage::exports() {
  if (plan_ == nullptr) return {};
  std::vector<Export> all{painting_of(*grid_, "tiles")};
  for (int i = 0; i < tabs_->count(); ++i) {
    if (auto* table = qobject_cast<TableView*>(tabs_->widget(i)))
      all.push_back(table->exporter(tabs_->tabText(i)));
  }
  return all;
}

}  // namespace headroom::gui
