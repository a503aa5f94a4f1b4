#pragma once

#include <QTimer>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "gui/model/workspace.h"
#include "gui/view/page.h"

class QLabel;
class QStackedWidget;

namespace headroom::gui {

class MemoryMapBox;
class TimelineSide;

/// Memory over time: a plan's prediction and a trace's measurement, one above the other with common axes. It
/// can also show two plans, or two traces. Tables list the memory at the moment under the cursor. A warning
/// says if a plan and a trace are of different decodes. A second view shows memory maps of traces.
class TimelinePage : public Page {
  Q_OBJECT
 public:
  explicit TimelinePage(Workspace& workspace, QWidget* parent = nullptr);
  ~TimelinePage() override;
  QString key() const override { return QStringLiteral("timeline"); }
  QString title() const override { return tr("Timeline"); }
  bool busy() const override;
  std::vector<Export> exports() override;

  /// The upper (0) and the lower (1) timeline.
  TimelineSide& side(size_t i) { return *sides_[i]; }

 public Q_SLOTS:
  /// Moves each cursor to its timeline's highest moment.
  void goToPeak();

 Q_SIGNALS:
  /// Asks for the remedies on the page Plan.
  void lowerAsked();

 private:
  void showDocuments();
  void timelineArrived();
  void sayNotes();
  QString besideStatistics() const;
  void sayWhatIsApart();
  void cursorMoved(size_t from, double seconds);
  void select(size_t from, const std::optional<std::pair<double, double>>& range);
  void lookAtCursor();
  void connectSides();
  QWidget* buildByKind();
  QWidget* underWarning(QWidget* charts);
  void linkRanges(size_t from, double begin, double end);
  Workspace& workspace_;
  QStackedWidget* stack_;
  MemoryMapBox* map_;
  QLabel* apart_;  ///< warning that the two decodes differ
  QLabel* note_;   ///< limits on the accuracy of the measurement
  std::array<std::unique_ptr<TimelineSide>, 2> sides_;
  QTimer follow_{this};  ///< the table follows the mouse, once per frame of the screen
  size_t followed_ = 0;
  double followed_seconds_ = 0;
  bool linking_ = false;
};

}  // namespace headroom::gui
