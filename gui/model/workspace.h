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
  std::string model = "sdxl";  ///< folder or built-in name
  Request request;             ///< its `model` is the same text
  planner::PlanOptions options;
  reports::DocumentPtr profile;  ///< costs; null: stated assumptions
  bool by_default = false;       ///< nobody chose it: the window began with it
};

/// The files that are open, one of each kind chosen, and the question that is planned. Behind a file of
/// several ranks stands each rank's part as a document of its own, so that it is looked at like any other;
/// they come and go together. Files are read in a worker thread; everything else happens in the thread of the
/// GUI.
class Workspace : public QObject {
  Q_OBJECT
 public:
  explicit Workspace(QObject* parent = nullptr);
  ~Workspace() override;

  const std::vector<reports::DocumentPtr>& documents() const { return documents_; }
  /// The chosen file of one kind: the last one opened, unless another was chosen. Null where none is open.
  template <typename T>
  reports::DocumentPtr chosen() const {
    for (const reports::DocumentPtr& document : chosen_) {
      if (document->as<T>() != nullptr) return document;
    }
    return nullptr;
  }
  /// A plan or a trace that is looked at beside the chosen one; null where there is none.
  const reports::DocumentPtr& beside() const { return beside_; }
  /// The file's name without its folder, with the rank where it is one rank's part.
  static QString titleOf(const reports::Document& document);
  const PlanningQuestion& question() const { return question_; }
  /// The question that this plan answers. That is the current question if its request and limit are the
  /// plan's; otherwise it is read from the plan's file.
  PlanningQuestion questionOf(const reports::DocumentPtr& plan) const;
  bool busy() const { return opening_ > 0; }

  /// Opens a plan that is in no file of the user's as the answer to `question`, in place of the one that was
  /// used before. Its file `name` goes with the workspace. Throws DeviceError where the file cannot be
  /// written; then all stays as it was.
  void use(const reports::DocumentPtr& plan, const PlanningQuestion& question, const QString& name);
  /// True if use() opened this document.
  bool isUsed(const reports::Document& document) const;
  /// Writes the plan, whole or not at all, and opens it; `question` is then what is asked, since the file of
  /// a plan says less than what led to it. Throws DeviceError.
  void save(const reports::DocumentPtr& plan, const PlanningQuestion& question, const QString& file);

 public Q_SLOTS:
  /// Reads files one after another; each ends in opened() or failed(). A plan sets the question. Plans are of
  /// `model`, a folder or a built-in name, or where it is empty of the model that they name.
  void open(const QStringList& files, const QString& model = {});
  /// A document that stood beside the chosen one of its kind changes places with it.
  void choose(const headroom::reports::DocumentPtr& document);
  void showBeside(const headroom::reports::DocumentPtr& document);
  void close(const headroom::reports::DocumentPtr& document);
  void ask(const headroom::gui::PlanningQuestion& question);

 Q_SIGNALS:
  void opened(const headroom::reports::DocumentPtr& document);
  /// In the words of the tools: file, field, what was expected. `plan` is the file where it can be opened
  /// with another model, else empty.
  void failed(const QString& message, const QString& plan);
  void documentsChanged();
  void questionChanged();
  void busyChanged(bool busy);

 private:
  struct Read {
    std::filesystem::path file;
    reports::DocumentPtr document;  ///< null where it failed
    QString failure, plan;
  };
  void finish(const Read& read);
  void add(const reports::DocumentPtr& document);
  PlanningQuestion questionInFile(const reports::PlanDocument& plan) const;
  QThreadPool readers_;
  std::vector<reports::DocumentPtr> documents_;
  std::vector<reports::DocumentPtr> chosen_;  ///< at most one of each kind
  reports::DocumentPtr beside_;
  PlanningQuestion question_;
  QTemporaryDir used_folder_;                                   ///< of the plan in use
  std::map<std::filesystem::path, PlanningQuestion> answered_;  ///< by plans that are being opened
  int opening_ = 0;
};

}  // namespace headroom::gui
