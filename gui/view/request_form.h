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
class QPushButton;
class QSpinBox;

namespace headroom::gui {

class InputNote;

/// Inputs of a plan except for the limit: the decode and the resources. Asks the workspace after a short
/// pause in typing, so it never asks with half a number. Errors appear below their fields.
class RequestForm : public QWidget {
  Q_OBJECT
 public:
  /// Rows at first: all, or those of the decode itself. A button then shows the others.
  enum class Rows { all, first };
  explicit RequestForm(Workspace& workspace, QWidget* parent = nullptr, Rows rows = Rows::all);
  /// True if every field is valid.
  bool valid() const { return valid_; }
  /// "assumed for 2 CPU cores": the machine whose costs the planner assumes without a profile.
  static QString assumedFor(const DeviceRecord& device);

 Q_SIGNALS:
  /// Emitted after the fields were parsed.
  void validated(bool valid);

 private:
  void buildModel();
  void buildDirection();
  void buildSize();
  void buildDevice();
  void buildStorage();
  void buildThrift();
  void buildPlaces();
  void buildProfile();
  QWidget* withFolderButton(QWidget* field, const QString& caption,
                            const std::function<void(const QString&)>& take);
  void addRow(const QString& label, QWidget* editor, const std::string& option, const QString& explanation);
  QSpinBox* number(int most, const QString& name);
  /// A field for a text. Planning waits for a pause in typing.
  QLineEdit* line(const QString& name, const QString& placeholder);
  void changed(int pause_milliseconds);
  void apply();
  void showQuestion();
  const DeviceRecord& device() const;
  Direction direction() const;
  /// Shows the places for kept tensors that the device has, and the profiles that serve the choice.
  void showDevice();
  void buildMore();
  void showRows();
  void listProfiles();
  /// Parses the fields. Returns nothing if a field has an error.
  std::optional<PlanningQuestion> read();
  void readPlaces(PlanningQuestion& question) const;
  void hint(const std::string& option, const QString& text);
  /// Runs a part of read() and shows its error at the field.
  template <typename Part>
  void attempt(const std::string& option, const Part& part);

  Workspace& workspace_;
  QFormLayout* rows_;
  QComboBox *model_, *direction_, *device_, *dtype_, *tf32_, *weights_, *profile_;
  QSpinBox *width_, *height_, *frames_, *batch_;
  QLineEdit *host_limit_, *scratch_folder_, *scratch_limit_, *thrift_;
  QPushButton* more_ = nullptr;                 ///< shows all rows while it is down; null: they are shown
  std::map<std::string, InputNote*> notes_;     ///< error lines by command-line option
  std::map<std::string, QLabel*> hints_;        ///< consequences of the current choices
  PlanningQuestion shown_;                      ///< question that last filled the fields
  std::vector<reports::DocumentPtr> profiles_;  ///< parallel to profile_'s entries; the first is none
  QTimer pause_{this};
  bool valid_ = true;
};

}  // namespace headroom::gui
