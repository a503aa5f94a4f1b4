#pragma once

#include <QImage>
#include <QTemporaryDir>
#include <QTimer>
#include <QWidget>

#include "gui/model/child_run.h"
#include "gui/model/run_request.h"
#include "gui/model/workspace.h"
#include "gui/view/page.h"
#include "reports/figures/chart.h"

class QLabel;
class QPlainTextEdit;
class QProgressBar;
class QPushButton;

namespace headroom::gui {

class ChartView;
class PictureView;
class RunForm;

/// Runs a decode or a measurement as a child process. Shows progress, memory under the limit, and the
/// picture. Opens the files that the run wrote.
class RunPage : public Page {
  Q_OBJECT
 public:
  explicit RunPage(Workspace& workspace, QWidget* parent = nullptr);
  QString key() const override { return QStringLiteral("run"); }
  QString title() const override { return tr("Run"); }
  bool busy() const override { return run_.running(); }
  std::vector<Export> exports() override;

  const ChildRun& run() const { return run_; }
  RunForm* form() { return form_; }

 public Q_SLOTS:
  void start();
  void cancel();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  QWidget* buildInputs();
  QWidget* buildOutcome();
  void sayMissing();
  void stateChanged(ChildRun::State state);
  QString written(const QStringList& files) const;
  /// The page that shows most of the run's results: "timeline".
  QString pageOfResults() const;
  void refresh();
  void showProgress();

  Workspace& workspace_;
  ChildRun run_;
  RunRequest request_;  ///< request of the shown run
  RunFiles files_;
  QTemporaryDir folder_;  ///< folder of the preview
  QTimer refresh_;
  QTimer typing_;  ///< the list of missing inputs follows a pause in typing
  int64_t regions_drawn_ = 0;
  RunForm* form_;
  QPushButton *start_, *cancel_, *look_, *open_;
  QProgressBar* bar_;
  QLabel *missing_, *status_, *report_, *latent_note_;
  QWidget* views_;  ///< hidden until the first run
  ChartView* memory_;
  PictureView* picture_;
  QPlainTextEdit* messages_;
};

/// Device memory of a run up to now, with its limit always visible. The last sample holds until now.
reports::Chart memory_chart(const RunProgress& progress, double now_seconds);

/// Shows a picture as large as fits, or a text until there is one.
class PictureView : public QWidget {
  Q_OBJECT
 public:
  explicit PictureView(const QString& words, QWidget* parent = nullptr);
  /// Reads the file again. If reading fails, returns false and keeps the shown picture.
  bool read(const QString& file);
  void clear();
  const QImage& image() const { return image_; }
  QSize sizeHint() const override { return {320, 320}; }
  QSize minimumSizeHint() const override { return {120, 120}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString words_;
  QImage image_;
};

}  // namespace headroom::gui
