#pragma once

#include <QString>
#include <QWidget>

namespace headroom::gui {

class Workspace;

/// Lines of Python that record a snapshot of PyTorch's memory around a decode (docs/evidence.md).
QString recording_lines();

/// For somebody whose decode ran out of memory: the lines that record a snapshot, a button that copies them,
/// and a place to drop the snapshot.
class RecordBox : public QWidget {
  Q_OBJECT
 public:
  explicit RecordBox(Workspace& workspace, QWidget* parent = nullptr);

 Q_SIGNALS:
  void openAsked();  ///< the file dialog
};

}  // namespace headroom::gui
