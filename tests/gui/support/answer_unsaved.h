#pragma once

#include <QAbstractButton>
#include <QApplication>
#include <QFileDialog>
#include <QLineEdit>
#include <QMessageBox>
#include <QTimer>
#include <catch2/catch.hpp>
#include <memory>

namespace headroom::test {

/// Answers the next question about an unsaved plan, and then the choice of its file. The number of questions
/// that were asked by then is `*asked`.
inline std::shared_ptr<int> answer_unsaved(QMessageBox::ButtonRole role, const QString& file = {}) {
  auto asked = std::make_shared<int>(0);
  QTimer::singleShot(0, QApplication::instance(), [role, file, asked] {
    auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
    if (box == nullptr || box->objectName() != QLatin1String("unsaved-plan")) return;
    ++*asked;
    if (role == QMessageBox::AcceptRole) {
      QTimer::singleShot(0, QApplication::instance(), [file] {
        auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
        if (dialog == nullptr) return;
        if (file.isEmpty()) return dialog->reject();
        dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"))->setText(file);
        static_cast<QDialog*>(dialog)->accept();
      });
    }
    for (QAbstractButton* button : box->buttons()) {
      if (box->buttonRole(button) == role) return button->click();
    }
  });
  return asked;
}

}  // namespace headroom::test
