#pragma once

#include <QTimer>
#include <array>
#include <memory>

#include "gui/model/workspace.h"
#include "gui/view/page.h"

class QLabel;
class QStackedWidget;

namespace headroom::gui {

class MemoryMapBox;
class TimelineSide;

/// Memory over time, as predicted by a plan and as recorded by a trace, one above the other on common axes of
/// time and bytes, and what was on the device at the moment under the cursor; or two plans, or two traces.
/// A warning above them says if a plan and a trace are of different decodes. A second view has the memory map
/// of either.
class TimelinePage : public Page {
  Q_OBJECT
 public:
  explicit TimelinePage(Workspace& workspace, QWidget* parent = nullptr);
  ~TimelinePage() override;
  QString key() const override { return QStringLiteral("timeline"); }
  QString title() const override { return tr("Timeline"); }
  bool busy() const override;
  std::vector<Export> exports() override;

  /// The upper and the lower one: predicted and measured, or two of one kind.
  TimelineSide& side(size_t i) { return *sides_[i]; }

 public Q_SLOTS:
  /// Each cursor to the first of its highest moments.
  void goToPeak();

 private:
  void showDocuments();
  void timelineArrived();
  void sayWhatIsApart();
  void cursorMoved(size_t from, double seconds);
  void lookAtCursor();
  void connectSides();
  QWidget* buildByKind();
  QWidget* underWarning(QWidget* charts);
  void linkRanges(size_t from, double begin, double end);
  Workspace& workspace_;
  QStackedWidget* stack_;
  MemoryMapBox* map_;
  QLabel* apart_;  ///< that the two are of different decodes
  QLabel* note_;   ///< how far what was measured can be trusted
  std::array<std::unique_ptr<TimelineSide>, 2> sides_;
  QTimer follow_;  ///< the table follows the mouse, once per frame of the screen
  size_t followed_ = 0;
  double followed_seconds_ = 0;
  bool linking_ = false;
};

}  // namespace headroom::gui
