#pragma once

#include <QFrame>
#include <QStringList>
#include <vector>

class QVBoxLayout;

namespace headroom::gui {

/// Errors above the pages, one line each. They stay until the user dismisses them, and never block.
class MessageBar : public QFrame {
  Q_OBJECT
 public:
  explicit MessageBar(QWidget* parent = nullptr);

  struct Message {
    QString text;
    QString plan;  ///< a file that another model may open; empty: none
  };
  /// Adds a message at the top. If there are too many, the oldest are removed. A message with a plan gets a
  /// button that asks for the plan's model.
  void add(const Message& message);
  QStringList messages() const;

 public Q_SLOTS:
  void dismissAll();
  /// Removes the messages about this plan.
  void dismissPlan(const QString& plan);

 Q_SIGNALS:
  void modelAsked(const QString& plan);

 private:
  void dismiss(QWidget* row);
  QVBoxLayout* rows_;
};

}  // namespace headroom::gui
