#pragma once

#include <QMainWindow>
#include <vector>

#include "gui/model/workspace.h"
#include "gui/view/page.h"
#include "gui/view/window_settings.h"

class QAction;
class QActionGroup;
class QMenu;
class QProgressBar;
class QTabWidget;

namespace headroom::gui {

class DocumentsDock;
class MessageBar;
class StartPage;

/// The pages as tabs that share one workspace, with menus and the list of open files. Errors appear in a bar
/// and never block.
class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  MainWindow(Workspace& workspace, const WindowSettings& settings, QWidget* parent = nullptr);
  ~MainWindow() override;

  const std::vector<Page*>& pages() const { return pages_; }
  Page* currentPage() const;
  void showPage(const QString& key);
  /// True while files are being read or a page waits for a worker.
  bool busy() const;
  MessageBar& messages() { return *messages_; }
  /// Current layout and settings, for the next start.
  WindowSettings settings() const;

 public Q_SLOTS:
  void chooseFiles();
  /// Asks for the folder of a plan's model, and opens the plan with it.
  void chooseModel(const QString& plan);

 Q_SIGNALS:
  void settingsChanged();

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void build();
  void buildPages();
  void buildMenus();
  void buildFileMenu();
  void buildViewMenu();
  void buildHelpMenu();
  void listRecent(QMenu* menu);
  void listExports(QMenu* menu);
  void save(const Export& what);
  void pageShown();
  void fileOpened(const reports::DocumentPtr& document);
  void filesRead(bool busy);
  void showBusy();
  void documentsChanged();
  void narrowDock();
  void rememberViews(WindowSettings& settings) const;
  void restoreViews();
  Workspace& workspace_;
  WindowSettings settings_;
  Language language_;
  MessageBar* messages_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  DocumentsDock* documents_ = nullptr;
  StartPage* start_ = nullptr;
  QActionGroup* page_actions_ = nullptr;
  QMenu* exports_ = nullptr;
  QProgressBar* busy_;
  std::vector<Page*> pages_;
  QString page_after_reading_;
  bool any_documents_ = false;
};

}  // namespace headroom::gui
