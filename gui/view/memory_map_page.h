#pragma once

#include <memory>

#include "gui/model/latest_job.h"
#include "gui/model/workspace.h"
#include "gui/view/page.h"
#include "reports/figures/memory_map.h"

class QComboBox;
class QLabel;
class QPushButton;
class QStackedWidget;

namespace headroom::gui {

class Legend;
class MemoryMapView;
class TableView;
class TreemapView;

/// Where everything lies over a decode, and what lies there at one moment, as a table and as areas by module:
/// in the reservation of the chosen plan for a GPU, or as the chosen trace recorded it.
class MemoryMapPage : public Page {
  Q_OBJECT
 public:
  explicit MemoryMapPage(Workspace& workspace, QWidget* parent = nullptr);
  QString key() const override { return QStringLiteral("memory"); }
  QString title() const override { return tr("Memory map"); }
  bool busy() const override { return job_.busy(); }
  std::vector<Export> exports() override;

  MemoryMapView* view() { return view_; }
  TreemapView* treemap() { return treemap_; }
  TableView* places() { return places_; }
  const std::shared_ptr<const reports::MemoryMap>& map() const { return map_; }

 public Q_SLOTS:
  /// To the first moment with the most bytes.
  void goToPeak();

 private:
  QWidget* buildViews();
  void refresh();
  void showFile(const reports::DocumentPtr& file);
  void offer(const std::vector<reports::DocumentPtr>& files);
  QString reason() const;
  void showMap(std::shared_ptr<const reports::MemoryMap> map);
  void showMoment(double seconds);

  Workspace& workspace_;
  std::vector<reports::DocumentPtr> offered_;
  reports::DocumentPtr shown_;
  std::shared_ptr<const reports::MemoryMap> map_;
  QStackedWidget* stack_;
  QLabel *nothing_, *heading_, *caption_;
  QComboBox* which_;
  Legend* legend_;
  MemoryMapView* view_;
  TreemapView* treemap_;
  TableView* places_;
  QPushButton* peak_;
  LatestJob job_;
};

}  // namespace headroom::gui
