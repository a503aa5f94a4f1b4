#pragma once

#include <memory>

#include "gui/model/job.h"
#include "gui/model/workspace.h"
#include "gui/view/page.h"
#include "reports/figures/decoder_picture.h"

class QLabel;
class QPushButton;
class QScrollArea;
class QStackedWidget;

namespace headroom::gui {

class DecoderCanvas;
class Legend;
class TableView;

/// The decoder from the latent to the picture, as the chosen plan runs it. Shows where the peak is and what
/// holds the memory. Links to a pass's tiles and to a layer's figures.
class DecoderPage : public Page {
  Q_OBJECT
 public:
  explicit DecoderPage(Workspace& workspace, QWidget* parent = nullptr);
  QString key() const override { return QStringLiteral("decoder"); }
  QString title() const override { return tr("Decoder"); }
  bool busy() const override { return job_.busy(); }
  std::vector<Export> exports() override;

  DecoderCanvas* canvas() { return canvas_; }
  const std::shared_ptr<const reports::DecoderPicture>& picture() const { return picture_; }

 public Q_SLOTS:
  void goToPeak();

 Q_SIGNALS:
  /// Asks for a pass on the page Plan. `tile` is the tile at which the pass has its peak.
  void passAsked(int pass, int tile);
  /// Asks for a layer on the page Layers, by its full name.
  void layerAsked(const QString& name);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void goToPass(int pass);
  void showInArea();
  QWidget* buildViews();
  QWidget* buildChosen();
  void refresh();
  void showPicture(std::shared_ptr<const reports::DecoderPicture> picture);
  void showChosen();
  void describePeak();
  void listMarks();
  const reports::PlanDocument& plan() const { return *plan_->as<reports::PlanDocument>(); }

  Workspace& workspace_;
  reports::DocumentPtr plan_, run_;
  std::shared_ptr<const reports::DecoderPicture> picture_;
  QStackedWidget* stack_;
  QLabel *nothing_, *heading_, *chosen_;
  Legend* legend_;
  QScrollArea* area_;
  DecoderCanvas* canvas_;
  QPushButton *peak_, *show_pass_, *show_layer_;
  TableView* live_;
  Job job_;
};

}  // namespace headroom::gui
