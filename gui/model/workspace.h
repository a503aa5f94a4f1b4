#pragma once

#include <QObject>
#include <QStringList>
#include <QTemporaryDir>
#include <QThreadPool>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/search/configurations.h"
#include "reports/figures/document.h"

namespace headroom::gui {

/// Input of the planner. All pages share it, so a limit that changes on one page changes on all.
struct PlanningQuestion {
  Request request{.model = "sdxl"};
  planner::PlanOptions options{.thrift = planner::kDefaultThrift};
  reports::DocumentPtr profile;  ///< costs; null: stated assumptions
  bool by_default = false;       ///< true for the initial question, which the user has not chosen
};

/// The decode of a frontier, a trace or a profile (its largest size). Its model is an argument of
/// open_model(). Nothing for other files, and if the model is not found.
std::optional<Request> request_of(const reports::Document& document);

/// True if the profile has the request's kind of device and direction.
bool serves(const profiler::Profile& profile, const Request& request);

/// The open files, the chosen file of each kind, and the current question. A file of several ranks is
/// followed by one document per rank, which can be viewed like any other. They open and close together. A
/// worker thread reads files. Everything else runs in the GUI's thread.
class Workspace : public QObject {
  Q_OBJECT
 public:
  explicit Workspace(QObject* parent = nullptr);
  ~Workspace() override;

  const std::vector<reports::DocumentPtr>& documents() const { return documents_; }
  /// The chosen file of one kind. By default this is the last one opened. Null if none is open.
  template <typename T>
  reports::DocumentPtr chosen() const {
    for (const reports::DocumentPtr& document : chosen_) {
      if (document->as<T>() != nullptr) return document;
    }
    return nullptr;
  }
  /// A plan or trace shown for comparison with the chosen one. May be null.
  const reports::DocumentPtr& beside() const { return beside_; }
  /// The file's name without its folder. One rank's part also names the rank.
  static QString titleOf(const reports::Document& document);
  const PlanningQuestion& question() const { return question_; }
  /// The question that this plan answers. That is the current question if its request and limit are the
  /// plan's; otherwise it is read from the plan's file.
  PlanningQuestion questionOf(const reports::DocumentPtr& plan) const;
  /// The question as this plan's file has it.
  PlanningQuestion questionInFile(const reports::PlanDocument& plan) const;
  bool busy() const { return opening_ > 0; }

  /// Writes a plan to a temporary file, opens it, and makes `question` the current question. Replaces the
  /// plan of the previous call. The file `name` is deleted with the workspace. Throws DeviceError if the file
  /// cannot be written. The workspace is then unchanged.
  void use(const reports::DocumentPtr& plan, const PlanningQuestion& question, const QString& name);
  /// True if use() opened this document.
  bool isUsed(const reports::Document& document) const;
  /// Writes the plan atomically and opens it. `question` becomes the current question, because a plan's file
  /// does not hold all of it. Throws DeviceError.
  void save(const reports::DocumentPtr& plan, const PlanningQuestion& question, const QString& file);

 public Q_SLOTS:
  /// Reads files one after another. Each file ends in opened() or failed(). A plan sets the question. `model`
  /// is a folder or a built-in name for all plans. Empty: the model that each plan names.
  void open(const QStringList& files, const QString& model = {});
  /// Makes a document the chosen one of its kind. If it was shown beside the chosen one, the two change
  /// places.
  void choose(const headroom::reports::DocumentPtr& document);
  void showBeside(const headroom::reports::DocumentPtr& document);
  void close(const headroom::reports::DocumentPtr& document);
  /// Makes a question the current one. Drops a profile of another kind of device or another direction.
  void ask(const headroom::gui::PlanningQuestion& question);

 Q_SIGNALS:
  void opened(const headroom::reports::DocumentPtr& document);
  /// `message` names the file, the field and what was expected. `plan` is the file if another model may open
  /// it, else empty.
  void failed(const QString& message, const QString& plan);
  void documentsChanged();
  void questionChanged();
  void busyChanged(bool busy);

 private:
  struct Read {
    std::filesystem::path file;
    reports::DocumentPtr document;  ///< null if reading failed
    QString failure, plan;
  };
  void finish(const Read& read);
  void add(const reports::DocumentPtr& document);
  QThreadPool readers_;
  std::vector<reports::DocumentPtr> documents_;
  std::vector<reports::DocumentPtr> chosen_;  ///< at most one of each kind
  reports::DocumentPtr beside_;
  PlanningQuestion question_;
  QTemporaryDir used_folder_;                                   ///< folder of the plan that use() opened
  std::map<std::filesystem::path, PlanningQuestion> answered_;  ///< questions of plans that are being opened
  int opening_ = 0;
};

/// Statistics of a run of this plan, from the open files. Prefers chosen files. Null if there are none.
reports::DocumentPtr run_of_plan(const Workspace& workspace, const reports::DocumentPtr& plan);

}  // namespace headroom::gui
