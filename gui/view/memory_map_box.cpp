#include "gui/view/memory_map_box.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/model/figure_text.h"
#include "gui/view/legend.h"
#include "gui/view/memory_map_view.h"
#include "gui/view/plain_label.h"
#include "gui/view/table_view.h"

namespace headroom::gui {

MemoryMapBox::MemoryMapBox(QWidget* parent)
    : QWidget(parent), stack_(new QStackedWidget(this)), nothing_(new PlainLabel(stack_)) {
  nothing_->setAlignment(Qt::AlignCenter);
  nothing_->setWordWrap(true);
  nothing_->setMargin(40);
  stack_->addWidget(nothing_);
  stack_->addWidget(buildViews());
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->addWidget(stack_);
  connect(&job_, &Job::busyChanged, this, &MemoryMapBox::busyChanged);
  connect(view_, &MemoryMapView::momentChanged, this, &MemoryMapBox::showMoment);
}

QWidget* MemoryMapBox::buildViews() {
  auto* views = new QWidget(stack_);
  heading_ = new PlainLabel(views);
  heading_->setWordWrap(true);
  legend_ = new Legend(views);
  auto* halves = new QSplitter(Qt::Vertical, views);
  halves->setObjectName(QStringLiteral("memory"));
  halves->setChildrenCollapsible(false);
  view_ = new MemoryMapView(halves);
  auto* below = new QWidget(halves);
  auto* peak = new QPushButton(tr("&Go to the peak"), below);
  connect(peak, &QPushButton::clicked, this, &MemoryMapBox::goToPeak);
  caption_ = new PlainLabel(below);
  caption_->setWordWrap(true);
  auto* row = new QHBoxLayout;
  row->addWidget(peak);
  row->addWidget(caption_, 1);
  places_ = new TableView(below);
  places_->setObjectName(QStringLiteral("memory-places"));
  auto* lower = new QVBoxLayout(below);
  lower->setContentsMargins({});
  lower->addLayout(row);
  lower->addWidget(places_, 1);
  halves->setStretchFactor(0, 3);
  halves->setStretchFactor(1, 2);
  halves->setSizes({440, 260});
  auto* column = new QVBoxLayout(views);
  column->setContentsMargins({});
  column->addWidget(heading_);
  column->addWidget(legend_);
  column->addWidget(halves, 1);
  return views;
}

void MemoryMapBox::setTrace(const reports::DocumentPtr& trace) {
  if (trace == trace_ && trace != nullptr) return;
  trace_ = trace;
  job_.forget();
  map_.reset();
  view_->setMap(nullptr);
  stack_->setCurrentIndex(0);
  if (trace == nullptr || trace->as<RecordedTrace>()->trace.places.empty()) {
    nothing_->setText(trace != nullptr
                          ? tr("This trace has no addresses.")
                          : tr("Open a trace to see where everything lay in memory. The page Run "
                               "and headroom-decode --trace record one."));
    return;
  }
  job_.start(
      [trace](const Job::Turn&) {
        return std::make_shared<const reports::MemoryMap>(reports::memory_map(*trace->as<RecordedTrace>()));
      },
      [this](const std::shared_ptr<const reports::MemoryMap>& made) { showMap(made); },
      [this](const QString& fault) {
        nothing_->setText(fault);
        Q_EMIT message(fault);
      });
}

void MemoryMapBox::showMap(std::shared_ptr<const reports::MemoryMap> map) {
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
  for (const MemoryKind kind :
       {MemoryKind::weights, MemoryKind::latent, MemoryKind::kept, MemoryKind::tile, MemoryKind::workspace}) {
    if (std::any_of(map_->places.begin(), map_->places.end(),
                    [&](const reports::MapPlace& place) { return place.kind == kind; }))
      kinds.push_back(kind);
  }
  if (map_->gaps_cost_memory) kinds.push_back(MemoryKind::slack);
  legend_->setEntries(kind_entries(kinds));
  goToPeak();
}

void MemoryMapBox::goToPeak() {
  if (map_ == nullptr) return;
  view_->setMoment(reports::peak_seconds(*map_));
}

void MemoryMapBox::showMoment(double seconds) {
  if (map_ == nullptr) return;
  places_->setTable(reports::places_table(*map_, seconds));
  int64_t live = 0;
  for (const reports::MapPlace& place : reports::places_at(*map_, seconds)) live += place.bytes;
  caption_->setText(
      tr("At %1: %2 live. A click or the arrow keys choose another moment; wheel: zoom, drag: pan, "
         "double click: all.")
          .arg(figure_text(reports::Unit::seconds, seconds),
               figure_text(reports::Unit::bytes, double(live))));
}

std::vector<Export> MemoryMapBox::exports() const {
  if (map_ == nullptr) return {};
  return {painting_of(*view_, tr("Memory map")), places_->exporter(tr("Places"))};
}

}  // namespace headroom::gui
