#pragma once

#include <QFrame>
#include <QStringList>

class QVBoxLayout;

namespace headroom::gui {

/// Faults above the pages, one line each, that stay until they are dismissed and stop nothing.
class MessageBar : public QFrame {
  Q_OBJECT
 public:
  explicit MessageBar(QWidget* parent = nullptr);

  /// The newest stands on top; of many the oldest go.
  void add(const QString& message);
  QStringList messages() const;

 public Q_SLOTS:
  void dismissAll();

 private:
  QVBoxLayout* rows_;
};

}  // namespace headroom::gui
