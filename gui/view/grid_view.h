#pragma once

#include <QWidget>

#include "reports/figures/document.h"

class QLabel;
class QSlider;

namespace headroom::gui {

/// One tile of a pass in positions of the pass's grid.
struct GridTile {
  size_t row = 0, column = 0;
  Region own;   ///< part of the pass's results that the tile writes
  Region read;  ///< `own` with the halo of all operations, clipped to the picture
};
/// `tile` counts row by row, in the order of execution.
GridTile grid_tile(const reports::PlanDocument& document, size_t pass, size_t tile);

/// The picture as one pass tiles it: finished tiles, the current one and its halo. A slider steps through the
/// tiles in the order of execution.
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
