#pragma once

#include <QWidget>
#include <map>
#include <optional>
#include <vector>

#include "gui/model/run_request.h"
#include "gui/model/workspace.h"

class QCheckBox;
class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QRadioButton;

namespace headroom::gui {

class InputNote;

/// Inputs of a run, each with its error below it.
class RunForm : public QWidget {
  Q_OBJECT
 public:
  explicit RunForm(Workspace& workspace, QWidget* parent = nullptr);

  RunRequest request() const;
  /// Checks the inputs and shows errors at their fields. Focuses the first wrong field. Returns true if there
  /// are no errors.
  bool check();
  /// The inputs that a run still lacks, a line for each field: "Latent: There is no such file."
  QStringList missing() const;

 Q_SIGNALS:
  void submitted();  ///< the user pressed Enter in a field
  void changed();    ///< an input has another value

 private:
  /// Adds a heading above a group of radio buttons.
  QLabel* heading(const QString& text);
  void buildKind();
  void buildModel();
  void buildWeights();
  void buildLatent();
  void buildPicture();
  void buildMemory();
  void buildOutput();
  QLineEdit* line(const char* name, const QString& example);
  void addRow(const QString& label, QWidget* editor, RunField field, const QString& explanation);
  QWidget* withButton(QWidget* field, const QString& caption,
                      QString (RunForm::*choose)(const QString& caption));
  QString chooseFolder(const QString& caption);
  QString chooseLatent(const QString& caption);
  QString choosePicture(const QString& caption);
  QString chooseOutput(const QString& caption);
  RunRequest::Kind kind() const;
  void showKind();
  void listPlans();
  void showQuestion();

  Workspace& workspace_;
  QFormLayout* rows_;
  QRadioButton *decode_, *encode_, *measure_, *by_plan_, *by_limit_;
  QComboBox *model_, *plan_, *latent_scale_, *device_;
  QCheckBox *random_, *trace_, *verify_;
  QLabel* memory_heading_;
  QLineEdit *weights_, *seed_, *latent_, *picture_, *limit_, *sizes_, *output_;
  std::map<RunField, InputNote*> notes_;
  std::map<RunField, QWidget*> cells_;       ///< rows of the layout
  std::map<RunField, QWidget*> editors_;     ///< widgets that take the focus
  std::vector<reports::DocumentPtr> plans_;  ///< parallel to the entries of plan_
  QString model_shown_;   ///< model of the last question; the user may have typed another one since
  QString device_shown_;  ///< device of the last question, likewise
  Direction direction_shown_ = Direction::decode;  ///< direction of the last question, likewise
};

}  // namespace headroom::gui
