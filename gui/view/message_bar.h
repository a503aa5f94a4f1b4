#pragma once

#include <QFrame>
#include <QStringList>
#include <vector>

class QVBoxLayout;

namespace headroom::gui {

/// Faults above the pages, one line each, that stay until they are dismissed and stop nothing.
class MessageBar : public QFrame {
  Q_OBJECT
 public:
  explicit MessageBar(QWidget* parent = nullptr);

  struct Message {
    QString text;
    QString plan;  ///< a file that another model may open; empty: none
  };
  /// The newest stands on top; of many the oldest go. Beside the message of a plan stands a button that asks
  /// for its model.
  void add(const Message& message);
  QStringList messages() const;

 public Q_SLOTS:
  void dismissAll();
  /// The messages of this plan.
  void dismissPlan(const QString& plan);

 Q_SIGNALS:
  void modelAsked(const QString& plan);

 private:
  void dismiss(QWidget* row);
  QVBoxLayout* rows_;
};

}  // namespace headroom::gui
