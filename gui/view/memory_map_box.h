#pragma once

#include <QWidget>
#include <memory>

#include "gui/model/latest_job.h"
#include "gui/model/workspace.h"
#include "gui/view/page.h"
#include "reports/figures/memory_map.h"

class QComboBox;
class QLabel;
class QStackedWidget;

namespace headroom::gui {

class Legend;
class MemoryMapView;
class TableView;

/// Where everything lies over a decode, and what lies there at one moment: in the reservation of a plan for a
/// GPU, or as a trace recorded it.
class MemoryMapBox : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryMapBox(QWidget* parent = nullptr);
  /// Plans and traces. A list chooses among those whose places are known; where none are, words say why.
  void setFiles(const std::vector<reports::DocumentPtr>& files);
  bool busy() const { return job_.busy(); }
  std::vector<Export> exports() const;

  MemoryMapView* view() { return view_; }
  TableView* places() { return places_; }
  const std::shared_ptr<const reports::MemoryMap>& map() const { return map_; }

 public Q_SLOTS:
  /// To the first moment with the most bytes.
  void goToPeak();

 Q_SIGNALS:
  void busyChanged();
  void message(const QString& text);

 private:
  QWidget* buildViews();
  void offer();
  void showFile(const reports::DocumentPtr& file);
  void showMap(std::shared_ptr<const reports::MemoryMap> map);
  void showMoment(double seconds);

  std::vector<reports::DocumentPtr> offered_;
  std::shared_ptr<const reports::MemoryMap> map_;
  QStackedWidget* stack_;
  QLabel *nothing_, *heading_, *caption_;
  QComboBox* which_;
  Legend* legend_;
  MemoryMapView* view_;
  TableView* places_;
  LatestJob job_;
};

}  // namespace headroom::gui
