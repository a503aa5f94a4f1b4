#pragma once

#include <QTimer>
#include <QWidget>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gui/model/workspace.h"

class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QSpinBox;

namespace headroom::gui {

class InputNote;

/// Inputs of a plan except for the limit: the decode and the resources. Asks the workspace after a short
/// pause, never with half a number. Errors appear at their field, in the words of the tools.
class RequestForm : public QWidget {
  Q_OBJECT
 public:
  explicit RequestForm(Workspace& workspace, QWidget* parent = nullptr);
  /// True if every field is valid.
  bool valid() const { return valid_; }

 Q_SIGNALS:
  /// The fields were read anew.
  void validated(bool valid);

 private:
  void buildModel();
  void buildSize();
  void buildStorage();
  void buildPlaces();
  void buildProfile();
  QWidget* withFolderButton(QWidget* field, const QString& caption,
                            const std::function<void(const QString&)>& take);
  void addRow(const QString& label, QWidget* editor, const std::string& option, const QString& explanation);
  QSpinBox* number(int most, const QString& name);
  void changed(int pause_milliseconds);
  void apply();
  void showQuestion();
  void listProfiles();
  /// The question that the fields make; none where one of them says what is wrong with it.
  std::optional<PlanningQuestion> read();
  void readPlaces(PlanningQuestion& question) const;
  void hint(const std::string& option, const QString& text);
  /// Runs a part of read() and says at the field what was thrown.
  template <typename Part>
  void attempt(const std::string& option, const Part& part);

  Workspace& workspace_;
  QFormLayout* rows_;
  QComboBox *model_, *dtype_, *weights_, *profile_;
  QSpinBox *width_, *height_, *frames_, *batch_;
  QLineEdit *host_limit_, *scratch_folder_, *scratch_limit_;
  std::map<std::string, InputNote*> notes_;     ///< what is wrong, by the tools' option
  std::map<std::string, QLabel*> hints_;        ///< what follows from what was chosen
  PlanningQuestion shown_;                      ///< what the fields were last filled with
  std::vector<reports::DocumentPtr> profiles_;  ///< parallel to the entries of profile_, the first being none
  QTimer pause_;
  bool valid_ = true;
};

}  // namespace headroom::gui
