#pragma once

#include <QObject>
#include <memory>
#include <optional>

#include "gui/model/job.h"
#include "gui/view/page.h"
#include "reports/figures/timeline.h"

namespace headroom::gui {

class ChartView;
class LiveBox;
class TableView;

/// Maps a moment of one timeline to another one: equally far through the same pass, or equally far through
/// the whole if the timelines have different numbers of passes.
double seconds_in(const reports::Timeline& to, const reports::Timeline& from, double seconds);

/// One timeline with its chart and what is live at one moment of it.
class TimelineSide : public QObject {
  Q_OBJECT
 public:
  /// `name` is for settings.
  explicit TimelineSide(const QString& name);
  ~TimelineSide() override;

  /// Builds the timeline of a plan or a trace in a worker; null shows none. `word` says what it is,
  /// "Predicted"; where it is empty, the file's name does.
  void show(const reports::DocumentPtr& document, const QString& word);
  bool busy() const { return job_.busy(); }
  const std::shared_ptr<const reports::Timeline>& timeline() const { return timeline_; }
  ChartView* chart() { return chart_; }
  TableView* table();
  LiveBox* liveBox() { return live_box_; }
  QString caption() const;
  const reports::DocumentPtr& document() const { return document_; }
  /// How far a GPU's trace can be trusted; empty of everything else.
  const QString& note() const { return note_; }

  /// Draws it over the time from 0 to `end_seconds`.
  void draw(double end_seconds);
  /// The live set at the highest moment of the column of pixels that holds `seconds`, or at that very moment.
  void lookAt(double seconds, bool whole_column);
  /// The moment that is shown.
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
    std::vector<reports::Table> gpu;
  };
  static Built built(const reports::DocumentPtr& document);
  QString title() const;
  QString word_, note_;
  reports::DocumentPtr document_;
  std::shared_ptr<const reports::Timeline> timeline_;
  std::optional<size_t> moment_;
  ChartView* chart_;
  LiveBox* live_box_;
  Job job_;
};

}  // namespace headroom::gui
