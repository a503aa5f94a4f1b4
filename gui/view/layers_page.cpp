#include "gui/view/layers_page.h"

#include <QComboBox>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/model/figure_text.h"
#include "gui/view/chart_view.h"
#include "gui/view/empty_page.h"
#include "gui/view/plain_text.h"
#include "gui/view/table_view.h"
#include "reports/figures/eager.h"
#include "reports/figures/layers.h"

namespace headroom::gui {
namespace {

QVBoxLayout* column_in(QWidget* widget) {
  auto* layout = new QVBoxLayout(widget);
  layout->setContentsMargins(0, 0, 0, 0);
  return layout;
}

QLabel* wrapped(const QString& text, QWidget* parent) {
  auto* label = new PlainLabel(text, parent);
  label->setWordWrap(true);
  return label;
}

/// The columns of one size, and those that all sizes share. All sizes at once would need a wide screen. The
/// groups may have the same name, and are equally large.
reports::Table of_size(const reports::Table& all, int size, int sizes) {
  const auto grouped =
      std::ranges::count_if(all.columns, [](const reports::Column& column) { return !column.group.empty(); });
  const auto first = std::ssize(all.columns) - grouped + size * (grouped / sizes);
  std::vector<size_t> shown;
  for (size_t i = 0; i < all.columns.size(); ++i) {
    const auto place = static_cast<std::ptrdiff_t>(i) - first;
    if (all.columns[i].group.empty() || (place >= 0 && place < grouped / sizes)) shown.push_back(i);
  }
  reports::Table table{all.title, {}, {}};
  for (const size_t i : shown) {
    table.columns.push_back(all.columns[i]);
    table.columns.back().group.clear();
  }
  for (const reports::Row& row : all.rows) {
    table.rows.push_back({{}, row.stands_out});
    for (const size_t i : shown) table.rows.back().cells.push_back(row.cells[i]);
  }
  return table;
}

}  // namespace

LayersPage::LayersPage(Workspace& workspace, QWidget* parent)
    : Page(parent), workspace_(workspace), stack_(new QStackedWidget(this)) {
  stack_->addWidget(empty_page(
      *this,
      tr("This page shows the memory and time of each layer. No profile and no recording is open. Measure "
         "the layers on the page Run, or with headroom-profile --model sdxl --sizes 256x256,512x512 -o "
         "profile.json."),
      {{tr("&Measure layers"), QStringLiteral("run")}}));

  auto* both = new QSplitter(Qt::Vertical, this);
  both->setObjectName(QStringLiteral("layers"));
  both->setChildrenCollapsible(false);
  auto* above = new QWidget(both);
  heading_ = wrapped({}, above);
  sizes_ = new QComboBox(above);
  auto* size = new PlainLabel(tr("Si&ze"), above);
  size->setBuddy(sizes_);
  layers_ = new TableView(above);
  layers_->setObjectName(QStringLiteral("layers"));
  layers_->view()->setSelectionMode(QAbstractItemView::SingleSelection);
  QVBoxLayout* column = column_in(above);
  auto* row = new QHBoxLayout;
  row->addWidget(heading_, 1);
  row->addWidget(size);
  row->addWidget(sizes_);
  column->addLayout(row);
  column->addWidget(layers_, 1);

  auto* below = new QSplitter(Qt::Horizontal, both);
  below->setObjectName(QStringLiteral("law"));
  below->setChildrenCollapsible(false);
  auto* chart_box = new QWidget(below);
  chart_note_ = wrapped({}, chart_box);
  chart_ = new ChartView(chart_box);
  chart_->setAccessibleName(tr("Latency table of the layer, or memory over time"));
  column = column_in(chart_box);
  column->addWidget(chart_note_);
  column->addWidget(chart_, 1);

  auto* peak_box = new QWidget(below);
  peak_note_ = wrapped({}, peak_box);
  live_ = new TableView(peak_box);
  live_->setObjectName(QStringLiteral("live"));
  column = column_in(peak_box);
  column->addWidget(peak_note_);
  column->addWidget(live_, 1);
  both->setStretchFactor(0, 3);
  both->setStretchFactor(1, 2);
  stack_->addWidget(both);
  column_in(this)->addWidget(stack_);
  layout()->setContentsMargins(8, 8, 8, 8);

  connect(&workspace_, &Workspace::documentsChanged, this, &LayersPage::showChosen);
  connect(layers_, &TableView::rowChosen, this, &LayersPage::showLatencyTable);
  connect(sizes_, &QComboBox::currentIndexChanged, this, &LayersPage::showSize);
  showChosen();
}

void LayersPage::showChosen() {
  const reports::DocumentPtr profile = workspace_.chosen<profiler::Profile>(),
                             recording = workspace_.chosen<profiler::EagerRecording>();
  const bool changed = profile != profile_ || recording != recording_;
  if (!changed && document_ != nullptr) return;
  const bool to_recording = recording != nullptr && (recording != recording_ || profile == nullptr);
  profile_ = profile;
  recording_ = recording;
  document_ = to_recording ? recording : profile;
  stack_->setCurrentIndex(document_ == nullptr ? 0 : 1);
  if (document_ == nullptr) return;
  if (to_recording)
    showRecording();
  else
    showProfile();
}

void LayersPage::showProfile() {
  const profiler::Profile& profile = *document_->as<profiler::Profile>();
  heading_->setText(tr("%1 in %2, profiled on %3 with %4. Layers that make a peak stand out; choose one to "
                       "see its latency table.")
                        .arg(QString::fromStdString(reports::model_title(profile.model)),
                             QLatin1String(name_of(profile.dtype)), QString::fromStdString(profile.device),
                             QString::fromStdString(profile.libraries)));
  all_ = reports::layers_table(profile);
  {
    const QSignalBlocker quiet(sizes_);
    sizes_->clear();
    for (const profiler::ProfiledSize& size : profile.sizes)
      sizes_->addItem(figure_text(reports::size_text(size)));
    sizes_->setCurrentIndex(sizes_->count() - 1);  // the largest size is the most likely to exceed the limit
  }
  showSize();
  showLatencyTable(chooseFirst());
}

void LayersPage::showRecording() {
  const profiler::EagerRecording& recording = *document_->as<profiler::EagerRecording>();
  heading_->setText(tr("%1 in %2, PyTorch's decode, recorded on %3 with %4. Layers that ran at a peak stand "
                       "out.")
                        .arg(QString::fromStdString(reports::model_title(recording.model)),
                             QLatin1String(name_of(recording.dtype)),
                             QString::fromStdString(recording.device),
                             QString::fromStdString(recording.libraries)));
  all_ = reports::eager_layers_table(recording);
  {
    const QSignalBlocker quiet(sizes_);
    sizes_->clear();
    for (const profiler::RecordedEagerDecode& decode : recording.decodes)
      sizes_->addItem(figure_text(reports::variant_text(decode)));
    sizes_->setCurrentIndex(sizes_->count() - 1);
  }
  showSize();
  showLatencyTable(chooseFirst());
}

int LayersPage::chooseFirst() {
  const std::vector<reports::Row>& rows = layers_->table().rows;
  if (rows.empty()) return -1;
  const auto found =
      std::find_if(rows.begin(), rows.end(), [](const reports::Row& row) { return row.stands_out; });
  const int first = found == rows.end() ? 0 : static_cast<int>(found - rows.begin());
  goToRow(first);
  return first;
}

void LayersPage::goToRow(int row) {
  const auto* sorted = static_cast<const SortFilter*>(layers_->view()->model());
  const QModelIndex shown = sorted->mapFromSource(layers_->model().index(row, 0));
  layers_->view()->setCurrentIndex(shown);
  layers_->view()->scrollTo(shown, QAbstractItemView::PositionAtCenter);
}

bool LayersPage::chooseLayer(const QString& name) {
  if (document_ == nullptr) return false;
  const std::vector<reports::Row>& rows = layers_->table().rows;
  for (size_t row = 0; row < rows.size(); ++row) {
    const auto* layer = std::get_if<std::string>(&rows[row].cells.front());
    if (layer == nullptr || QString::fromStdString(*layer) != name) continue;
    layers_->filter()->clear();
    goToRow(static_cast<int>(row));
    return true;
  }
  return false;
}

void LayersPage::showLatencyTable(int row) {
  if (document_ == nullptr) return;
  if (document_->as<profiler::Profile>() == nullptr) return;  // a recording has a chart for each size
  const profiler::Profile& profile = *document_->as<profiler::Profile>();
  const bool there = row >= 0 && row < std::ssize(profile.layers);
  const profiler::LatencyTable* latency_table =
      there ? profile.find_latency_table(profile.layers[static_cast<size_t>(row)].latency_table) : nullptr;
  chart_->setVisible(latency_table != nullptr);
  if (latency_table == nullptr) {
    chart_note_->setText(there ? tr("This layer has no latency table: it moves nothing.")
                               : tr("Choose a layer to see how its time grows with the tile."));
    return;
  }
  QString note =
      tr("%1: time of one call against the positions of its tile.").arg(figure_text(latency_table->name));
  if (latency_table->held_out_points > 0) {
    note += QLatin1Char(' ') + tr("Its error is %1 at %2 measured tiles that it does not contain.")
                                   .arg(figure_text(reports::Unit::share, latency_table->held_out_error))
                                   .arg(latency_table->held_out_points);
  }
  chart_note_->setText(note);
  reports::Chart chart = reports::latency_table_chart(*latency_table);
  chart.title.clear();  // the note says it
  chart_->setChart(chart);
}

/// Shows the figures of the chosen size. Keeps the chosen layer.
void LayersPage::showSize() {
  if (document_ == nullptr || sizes_->currentIndex() < 0) {
    layers_->setTable(all_);
    live_->setTable({});
    return;
  }
  const int chosen_row = layers_->chosenRow();
  layers_->setTable(of_size(all_, sizes_->currentIndex(), sizes_->count()));
  if (chosen_row >= 0) goToRow(chosen_row);
  const auto at = static_cast<size_t>(sizes_->currentIndex());
  const auto note = [&](int64_t peak_bytes, const std::string& layer) {
    peak_note_->setText(tr("Live at the peak: %1, while %2 ran.")
                            .arg(figure_text(reports::Unit::bytes, double(peak_bytes)), figure_text(layer)));
  };
  if (const auto* recording = document_->as<profiler::EagerRecording>()) {
    note(recording->decodes[at].peak_bytes, recording->decodes[at].peak_layer);
    live_->setTable(reports::eager_live_table(*recording));
    chart_note_->setText(tr("Live memory over time, %1.").arg(sizes_->currentText()));
    reports::Chart chart = reports::eager_chart(recording->decodes[at]);
    chart.title.clear();  // the note says it
    chart_->setVisible(true);
    chart_->setChart(chart);
    return;
  }
  const profiler::Profile& profile = *document_->as<profiler::Profile>();
  note(profile.sizes[at].peak_bytes, profile.sizes[at].peak_layer);
  live_->setTable(reports::peak_live_table(profile, at));
}

std::vector<Export> LayersPage::exports() {
  if (document_ == nullptr) return {};
  std::vector<Export> all{csv_of(all_, tr("Layers")), live_->exporter(tr("Live at the peak"))};
  if (chart_->isVisibleTo(this))
    all.push_back(painting_of(*chart_, document_->as<profiler::Profile>() != nullptr
                                           ? tr("Latency table")
                                           : tr("Live memory over time")));
  return all;
}

}  // namespace headroom::gui
