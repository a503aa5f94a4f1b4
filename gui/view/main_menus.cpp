// The menus of the main window.

#include <QActionGroup>
#include <QApplication>
#include <QDir>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QStatusBar>
#include <QTabWidget>
#include <QToolButton>

#include "decoder/files/require_apart.h"
#include "gui/view/documents_dock.h"
#include "gui/view/glossary.h"
#include "gui/view/main_window.h"
#include "gui/view/message_bar.h"

namespace headroom::gui {
namespace {

/// A name for a file: lower case, with "-" for everything but letters and digits.
QString file_name(const QString& name) {
  QString plain;
  for (const QChar c : name.toLower()) plain += c.isLetterOrNumber() ? c : QLatin1Char('-');
  while (plain.contains(QLatin1String("--"))) plain.replace(QLatin1String("--"), QLatin1String("-"));
  return plain;
}

}  // namespace

void MainWindow::buildMenus() {
  buildFileMenu();
  buildViewMenu();
  buildHelpMenu();
}

void MainWindow::buildFileMenu() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open…"), QKeySequence::Open, this, &MainWindow::chooseFiles);
  QMenu* recent = file->addMenu(tr("Open &recent"));
  connect(recent, &QMenu::aboutToShow, this, [this, recent] { listRecent(recent); });
  file->addSeparator();
  exports_ = file->addMenu(tr("&Export view"));
  connect(exports_, &QMenu::aboutToShow, this, [this] { listExports(exports_); });
  auto* export_key = new QAction(exports_);
  export_key->setShortcut(QKeySequence(tr("Ctrl+E")));
  connect(export_key, &QAction::triggered, this, [this] { exports_->popup(mapToGlobal(QPoint(80, 80))); });
  tabs_->addAction(export_key);  // the menu entry opens a submenu and cannot have a shortcut
  file->addSeparator();
  file->addAction(tr("&Close file"), QKeySequence::Close, documents_, &DocumentsDock::closeCurrent);
  QAction* all = file->addAction(tr("Close &all files"), this, [this] {
    while (!workspace_.documents().empty()) workspace_.close(workspace_.documents().back());
  });
  connect(file, &QMenu::aboutToShow, all, [this, all] { all->setEnabled(!workspace_.documents().empty()); });
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);
}

void MainWindow::buildViewMenu() {
  QMenu* view = menuBar()->addMenu(tr("&View"));
  page_actions_ = new QActionGroup(view);
  for (size_t i = 0; i < pages_.size(); ++i) {
    const auto number = static_cast<int>(i);
    QAction* action = view->addAction(QStringLiteral("&%1 %2").arg(number + 1).arg(pages_[i]->title()),
                                      QKeySequence(QStringLiteral("Ctrl+%1").arg(number + 1)), this,
                                      [this, number] { tabs_->setCurrentIndex(number); });
    action->setCheckable(true);
    page_actions_->addAction(action);
  }
  view->addSeparator();
  view->addAction(documents_->toggleViewAction());
  QMenu* languages = view->addMenu(tr("L&anguage"));
  auto* language_group = new QActionGroup(languages);
  // Languages appear under their own names, so that users find theirs in any language.
  for (const auto& [code, name] : {std::pair(QStringLiteral("system"), tr("&System")),
                                   std::pair(QStringLiteral("en"), QStringLiteral("&English")),
                                   std::pair(QStringLiteral("zh_CN"), QStringLiteral("简体中文 (&Z)"))}) {
    QAction* action = languages->addAction(name, this, [this, code = code] {
      settings_.language = code;
      Q_EMIT settingsChanged();
      statusBar()->showMessage(tr("The language changes when the window is opened again."));
    });
    action->setCheckable(true);
    action->setChecked(code == settings_.language);
    language_group->addAction(action);
  }
}

void MainWindow::buildHelpMenu() {
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  QAction* words = help->addAction(tr("&What the words mean"), QKeySequence::HelpContents, this,
                                   [this] { show_glossary(this); });
  auto* corner = new QToolButton(tabs_);
  corner->setDefaultAction(words);
  corner->setAutoRaise(true);
  tabs_->setCornerWidget(corner);
  help->addSeparator();
  help->addAction(tr("&About Headroom"), this, [this] { show_about(this); });
}

void MainWindow::listRecent(QMenu* menu) {
  menu->clear();
  for (const QString& file : settings_.recent_files) {
    // Escapes ampersands, which would underline the next letter.
    QString text = QDir::toNativeSeparators(file);
    menu->addAction(text.replace(QLatin1Char('&'), QLatin1String("&&")), this,
                    [this, file] { workspace_.open({file}); });
  }
  if (menu->isEmpty()) menu->addAction(tr("None yet"))->setEnabled(false);
}

void MainWindow::listExports(QMenu* menu) {
  menu->clear();
  if (Page* page = currentPage()) {
    for (const Export& what : page->exports()) {
      menu->addAction(tr("%1 (%2)…").arg(what.name, what.suffix.toUpper()), this,
                      [this, what] { save(what); });
    }
  }
  if (menu->isEmpty()) menu->addAction(tr("Nothing on this page yet"))->setEnabled(false);
}

void MainWindow::save(const Export& what) {
  auto* dialog = new QFileDialog(this, tr("Export %1").arg(what.name));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setNameFilter(QStringLiteral("%1 (*.%2)").arg(what.suffix.toUpper(), what.suffix));
  dialog->setDefaultSuffix(what.suffix);
  dialog->selectFile(file_name(what.name) + QLatin1Char('.') + what.suffix);
  connect(dialog, &QFileDialog::fileSelected, this, [this, what](const QString& file) {
    try {
      std::vector<NamedFile> open;
      for (const reports::DocumentPtr& document : workspace_.documents())
        open.push_back({"the open file", document->file.string()});
      require_apart({{"Export", file.toStdString()}}, open);
      what.write(file);
      statusBar()->showMessage(tr("Written: %1").arg(QDir::toNativeSeparators(file)));
    } catch (const std::exception& error) {
      messages_->add({QString::fromUtf8(error.what()), {}});
    }
  });
  dialog->open();
}

}  // namespace headroom::gui
