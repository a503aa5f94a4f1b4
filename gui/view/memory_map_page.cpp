#include "gui/view/memory_map_page.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/model/figure_text.h"
#include "gui/view/legend.h"
#include "gui/view/memory_map_view.h"
#include "gui/view/plain_label.h"
#include "gui/view/table_view.h"
#include "gui/view/treemap_view.h"

namespace headroom::gui {

MemoryMapPage::MemoryMapPage(Workspace& workspace, QWidget* parent)
    : Page(parent),
      workspace_(workspace),
      stack_(new QStackedWidget(this)),
      nothing_(new PlainLabel(stack_)) {
  nothing_->setAlignment(Qt::AlignCenter);
  nothing_->setWordWrap(true);
  nothing_->setMargin(40);
  stack_->addWidget(nothing_);
  stack_->addWidget(buildViews());
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 8, 8, 8);
  layout->addWidget(stack_);
  connect(&workspace_, &Workspace::documentsChanged, this, &MemoryMapPage::refresh);
  connect(&job_, &LatestJob::busyChanged, this, &Page::busyChanged);
  connect(which_, &QComboBox::activated, this,
          [this](int chosen) { showFile(offered_[static_cast<size_t>(chosen)]); });
  connect(peak_, &QPushButton::clicked, this, &MemoryMapPage::goToPeak);
  connect(view_, &MemoryMapView::momentChanged, this, &MemoryMapPage::showMoment);
  refresh();
}

QWidget* MemoryMapPage::buildViews() {
  auto* views = new QWidget(stack_);
  heading_ = new PlainLabel(views);
  heading_->setWordWrap(true);
  legend_ = new Legend(views);
  auto* halves = new QSplitter(Qt::Vertical, views);
  halves->setObjectName(QStringLiteral("memory"));
  halves->setChildrenCollapsible(false);
  view_ = new MemoryMapView(halves);
  auto* below = new QWidget(halves);
  peak_ = new QPushButton(tr("&Go to the peak"), below);
  caption_ = new PlainLabel(below);
  caption_->setWordWrap(true);
  auto* row = new QHBoxLayout;
  row->addWidget(peak_);
  row->addWidget(caption_, 1);
  auto* moment = new QSplitter(Qt::Horizontal, below);
  moment->setObjectName(QStringLiteral("memory-moment"));
  moment->setChildrenCollapsible(false);
  places_ = new TableView(moment);
  places_->setObjectName(QStringLiteral("memory-places"));
  treemap_ = new TreemapView(moment);
  moment->setStretchFactor(0, 3);
  moment->setStretchFactor(1, 2);
  auto* lower = new QVBoxLayout(below);
  lower->setContentsMargins({});
  lower->addLayout(row);
  lower->addWidget(moment, 1);
  halves->setStretchFactor(0, 3);
  halves->setStretchFactor(1, 2);
  halves->setSizes({440, 260});
  which_ = new QComboBox(views);
  which_->setObjectName(QStringLiteral("memory-which"));
  which_->setVisible(false);
  auto* top = new QHBoxLayout;
  top->addWidget(heading_, 1);
  top->addWidget(which_);
  auto* column = new QVBoxLayout(views);
  column->setContentsMargins({});
  column->addLayout(top);
  column->addWidget(legend_);
  column->addWidget(halves, 1);
  return views;
}

/// What can be shown: a plan whose places are known beforehand, and a trace that recorded them.
void MemoryMapPage::refresh() {
  std::vector<reports::DocumentPtr> files;
  const reports::DocumentPtr plan = workspace_.chosen<reports::PlanDocument>(),
                             trace = workspace_.chosen<RecordedTrace>();
  if (plan != nullptr && plan->as<reports::PlanDocument>()->plan.request.device == DeviceKind::cuda)
    files.push_back(plan);
  if (trace != nullptr && !trace->as<RecordedTrace>()->trace.places.empty()) files.push_back(trace);
  if (files.empty()) nothing_->setText(reason());
  if (files == offered_) return;
  offer(files);
}

QString MemoryMapPage::reason() const {
  if (workspace_.chosen<RecordedTrace>() != nullptr) return tr("This trace has no addresses.");
  if (workspace_.chosen<reports::PlanDocument>() != nullptr) {
    return tr(
        "This plan is for the CPU, whose pool gives addresses only as it decodes. Open a trace of its decode "
        "to see them: the page Run and headroom-decode --trace record one. Of a plan for a GPU (--device "
        "cuda) this page shows the offset of everything beforehand.");
  }
  return tr(
      "Open a trace of a decode, or a plan for a GPU (--device cuda), to see where everything lies in its "
      "memory over the decode.");
}

void MemoryMapPage::offer(const std::vector<reports::DocumentPtr>& files) {
  offered_ = files;
  const QSignalBlocker quiet(which_);
  which_->clear();
  for (const reports::DocumentPtr& file : offered_) {
    const QString name = QString::fromStdString(file->file.filename().string());
    which_->addItem(file->as<RecordedTrace>() != nullptr ? tr("%1, as it ran").arg(name)
                                                         : tr("%1, as planned").arg(name));
  }
  which_->setVisible(offered_.size() > 1);
  showFile(offered_.empty() ? nullptr : offered_.front());
}

void MemoryMapPage::showFile(const reports::DocumentPtr& file) {
  shown_ = file;
  job_.forget();
  map_.reset();
  view_->setMap(nullptr);
  stack_->setCurrentIndex(0);
  if (shown_ == nullptr) return;
  nothing_->setText(tr("Placing…"));
  job_.start(
      [file] {
        const auto* recorded = file->as<RecordedTrace>();
        return std::make_shared<const reports::MemoryMap>(
            recorded != nullptr ? reports::memory_map(*recorded)
                                : reports::memory_map(*file->as<reports::PlanDocument>()));
      },
      [this](const std::shared_ptr<const reports::MemoryMap>& made) { showMap(made); },
      [this](const QString& fault) {
        nothing_->setText(fault);
        Q_EMIT message(fault);
      });
}

void MemoryMapPage::showMap(std::shared_ptr<const reports::MemoryMap> map) {
  map_ = std::move(map);
  stack_->setCurrentIndex(1);
  view_->setMap(map_);
  const auto bytes = [](int64_t count) { return figure_text(reports::Unit::bytes, double(count)); };
  const QString reserved = bytes(map_->reserved_bytes), live = bytes(map_->live_bytes);
  heading_->setText(
      !map_->gaps_cost_memory
          ? tr("Addresses of %1 were in use; at most %2 of them were live at one time. What lies between are "
               "addresses without memory: the pool gives free pages back, or to the next tile.")
                .arg(reserved, live)
          : tr("The reservation is %1; at most %2 of it are live at one time. What stays free then, %3, "
               "are gaps between what has to lie side by side.")
                .arg(reserved, live, bytes(map_->reserved_bytes - map_->live_bytes)));
  std::vector<MemoryKind> kinds;
  for (const MemoryKind kind : {MemoryKind::weights, MemoryKind::latent, MemoryKind::materialised,
                                MemoryKind::tile, MemoryKind::workspace}) {
    if (std::any_of(map_->places.begin(), map_->places.end(),
                    [&](const reports::MapPlace& place) { return place.kind == kind; }))
      kinds.push_back(kind);
  }
  if (map_->gaps_cost_memory) kinds.push_back(MemoryKind::slack);
  legend_->setEntries(kind_entries(kinds));
  goToPeak();
}

void MemoryMapPage::goToPeak() {
  if (map_ == nullptr) return;
  view_->setMoment(reports::peak_seconds(*map_));
}

void MemoryMapPage::showMoment(double seconds) {
  if (map_ == nullptr) return;
  places_->setTable(reports::places_table(*map_, seconds));
  std::vector<reports::LiveEntry> entries = reports::entries_at(*map_, seconds);
  int64_t live = 0;
  for (const reports::LiveEntry& entry : entries) live += entry.kind == MemoryKind::slack ? 0 : entry.bytes;
  treemap_->setEntries(std::move(entries));
  caption_->setText(
      tr("At %1: %2 live. A click or the arrow keys choose another moment; wheel: zoom, drag: pan, "
         "double click: all.")
          .arg(figure_text(reports::Unit::seconds, seconds),
               figure_text(reports::Unit::bytes, double(live))));
}

std::vector<Export> MemoryMapPage::exports() {
  if (map_ == nullptr) return {};
  return {view_->exporter(tr("Memory map")), treemap_->exporter(tr("Areas by module")),
          places_->exporter(tr("Places"))};
}

}  // namespace headroom::gui
