#pragma once

#include <QWidget>

#include "reports/figures/document.h"

class QLabel;
class QSlider;

namespace headroom::gui {

/// One tile of a pass in positions of the pass's grid.
struct GridTile {
  size_t row = 0, column = 0;
  Region own;   ///< what it adds to the pass's results
  Region read;  ///< own and halo of everything that is computed for it, within the picture
};
/// `tile` counts row by row, the order in which the decoder runs them.
GridTile grid_tile(const reports::PlanDocument& document, size_t pass, size_t tile);

/// The picture as one pass cuts it into tiles: those that are done, the current one and its halo. A slider
/// goes through them in the order in which they run.
class GridView : public QWidget {
  Q_OBJECT
 public:
  explicit GridView(QWidget* parent = nullptr);
  /// Null clears it.
  void setPass(const reports::DocumentPtr& plan, size_t pass);
  int tile() const;
  int tiles() const;

 public Q_SLOTS:
  void setTile(int tile);

 private:
  class Canvas;
  void describe();
  Canvas* canvas_;
  QSlider* slider_;
  QLabel* words_;
};

}  // namespace headroom::gui
