#pragma once

#include <QObject>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "gui/model/job.h"
#include "gui/view/page.h"
#include "reports/figures/table.h"
#include "reports/figures/timeline.h"

class QComboBox;
class QLabel;
class QStackedWidget;

namespace headroom::gui {

class ChartView;
class LiveBox;
class TableView;

/// Maps a moment of timeline `from` to the corresponding moment of `to`: equally far through the same pass.
/// If the numbers of passes differ, it is equally far through the whole decode.
double seconds_in(const reports::Timeline& to, const reports::Timeline& from, double seconds);

/// One timeline: its chart and the tables of one moment.
class TimelineSide : public QObject {
  Q_OBJECT
 public:
  /// `name` is the key in the window's settings.
  explicit TimelineSide(const QString& name);
  ~TimelineSide() override;

  /// Builds the timeline of a plan or a trace in a worker; null shows none. `word` is the title, "Predicted".
  /// Empty: the file's name.
  void show(const reports::DocumentPtr& document, const QString& word);
  bool busy() const { return job_.busy(); }
  const std::shared_ptr<const reports::Timeline>& timeline() const { return timeline_; }
  ChartView* chart() { return chart_; }
  TableView* table();
  LiveBox* liveBox() { return live_box_; }
  QString caption() const;
  const reports::DocumentPtr& document() const { return document_; }
  /// Limits on the accuracy of a GPU's trace. Empty for all other documents.
  const QString& note() const { return note_; }

  /// Draws the timeline from 0 to `end_seconds`.
  void draw(double end_seconds);
  /// Shows the memory at `seconds`. With `whole_column`, shows the highest moment of its pixel column
  /// instead.
  void lookAt(double seconds, bool whole_column);
  /// Restricts the tables to a range in seconds: the live set of its highest moment, and the GPU's work in
  /// it. Unset: the tables follow the cursor again.
  void setRange(std::optional<std::pair<double, double>> range);
  /// Index of the shown moment.
  std::optional<size_t> moment() const { return moment_; }
  std::vector<Export> exports();

 Q_SIGNALS:
  void arrived();
  void failed(const QString& message);
  void busyChanged();

 private:
  /// Everything that is computed from a document.
  struct Built {
    std::shared_ptr<const reports::Timeline> timeline;
    QString note;
    std::vector<reports::Table> gpu;  ///< of the whole decode
  };
  static Built built(const reports::DocumentPtr& document);
  QString title() const;
  void showMoment(size_t moment);
  QString word_, note_;
  reports::DocumentPtr document_;
  std::shared_ptr<const reports::Timeline> timeline_;
  std::optional<size_t> moment_;
  std::optional<std::pair<double, double>> range_;
  std::vector<reports::Table> gpu_;  ///< of the whole decode
  ChartView* chart_;
  LiveBox* live_box_;
  Job job_;
};

class TableView;

/// Tables below a timeline: memory on the device at one moment. For a GPU's trace, the user can also choose a
/// table of the GPU's work.
class LiveBox : public QWidget {
  Q_OBJECT
 public:
  /// `name` is the key in the window's settings.
  explicit LiveBox(const QString& name, QWidget* parent = nullptr);

  void showLive(const QString& caption, const reports::Table& live);
  /// Sets the tables of the GPU's work. Empty if there is no GPU: the choice is then hidden.
  void showGpu(std::vector<reports::Table> tables);
  TableView* live() { return live_; }
  /// Chosen table of the GPU's work.
  TableView* gpu() { return gpu_; }
  QComboBox* chooser() { return chooser_; }
  /// `word` names the timeline in file names.
  std::vector<Export> exports(const QString& word) const;

 private:
  void showChosen();
  QLabel* caption_;
  QComboBox* chooser_;
  QStackedWidget* stack_;
  TableView *live_, *gpu_;
  std::vector<reports::Table> tables_;
};

}  // namespace headroom::gui
