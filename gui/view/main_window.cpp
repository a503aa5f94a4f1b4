#include "gui/view/main_window.h"

#include <QActionGroup>
#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QMimeData>
#include <QProgressBar>
#include <QShortcut>
#include <QSplitter>
#include <QStatusBar>
#include <QTabWidget>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/view/decoder_page.h"
#include "gui/view/documents_dock.h"
#include "gui/view/drop_area.h"
#include "gui/view/frontier_page.h"
#include "gui/view/history_page.h"
#include "gui/view/layers_page.h"
#include "gui/view/message_bar.h"
#include "gui/view/plan_page.h"
#include "gui/view/run_page.h"
#include "gui/view/start_page.h"
#include "gui/view/table_view.h"
#include "gui/view/timeline_page.h"

namespace headroom::gui {
namespace {

constexpr int kMostRecent = 12, kMessageMilliseconds = 10000;
const QSize kUsualSize(1280, 820);

/// Page that shows a file best. The window turns to it from the start page.
QString page_of(const reports::Document& document) {
  const std::string kind = reports::kind_of(document);
  if (kind == "profile" || kind == "recorded decodes") return QStringLiteral("layers");
  if (kind == "stats" || kind == "plan of ranks") return QStringLiteral("plan");
  if (kind == "frontier") return QStringLiteral("frontier");
  if (kind == "memory history") return QStringLiteral("history");
  return QStringLiteral("timeline");
}

/// The splitters of a page by a stable name.
QMap<QString, QSplitter*> splitters_of(const Page& page) {
  QMap<QString, QSplitter*> found;
  const QList<QSplitter*> widgets = page.findChildren<QSplitter*>();
  for (qsizetype i = 0; i < widgets.size(); ++i) {
    const QString name = widgets[i]->objectName();
    found[page.key() + QLatin1Char('/') + (name.isEmpty() ? QString::number(i) : name)] = widgets[i];
  }
  return found;
}

}  // namespace

MainWindow::MainWindow(Workspace& workspace, const WindowSettings& settings, QWidget* parent)
    : QMainWindow(parent), workspace_(workspace), settings_(settings), busy_(new QProgressBar(this)) {
  setAcceptDrops(true);
  busy_->setRange(0, 0);  // indeterminate: the remaining time is unknown
  busy_->setTextVisible(false);
  busy_->setFixedSize(96, busy_->fontMetrics().height());
  busy_->hide();
  statusBar()->addPermanentWidget(busy_);
  language_.use(settings_.language);
  settings_.language = language_.code();
  build();
  connect(&workspace_, &Workspace::opened, this, &MainWindow::fileOpened);
  connect(&workspace_, &Workspace::failed, this, [this](const QString& fault, const QString& plan) {
    messages_->add({fault, plan});
  });
  connect(&workspace_, &Workspace::busyChanged, this, &MainWindow::filesRead);
  connect(&workspace_, &Workspace::documentsChanged, this, &MainWindow::documentsChanged);
  if (settings_.geometry.isEmpty() || !restoreGeometry(settings_.geometry)) resize(kUsualSize);
  if (settings_.docks.isEmpty() || !restoreState(settings_.docks)) narrowDock();
  any_documents_ = !workspace_.documents().empty();
  documents_->setVisible(any_documents_);
}

MainWindow::~MainWindow() = default;

void MainWindow::narrowDock() {
  constexpr int kUsualDock = 176;
  resizeDocks({documents_}, {kUsualDock}, Qt::Horizontal);
}

void MainWindow::build() {
  auto* central = new QWidget(this);
  setCentralWidget(central);
  messages_ = new MessageBar(central);
  connect(messages_, &MessageBar::modelAsked, this, &MainWindow::chooseModel);
  tabs_ = new QTabWidget(central);
  tabs_->setDocumentMode(true);
  auto* column = new QVBoxLayout(central);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(messages_);
  column->addWidget(tabs_, 1);
  documents_ = new DocumentsDock(workspace_, this);
  addDockWidget(Qt::LeftDockWidgetArea, documents_);
  connect(documents_, &DocumentsDock::message, statusBar(),
          [this](const QString& text) { statusBar()->showMessage(text, kMessageMilliseconds); });
  buildPages();
  buildMenus();
  auto* dismiss = new QShortcut(QKeySequence(Qt::Key_Escape), central);
  dismiss->setContext(Qt::WidgetWithChildrenShortcut);
  connect(dismiss, &QShortcut::activated, messages_, &MessageBar::dismissAll);
  restoreViews();
  showPage(settings_.page);
  pageShown();
}

void MainWindow::buildPages() {
  start_ = new StartPage(workspace_);
  auto* decoder = new DecoderPage(workspace_);
  auto* layers = new LayersPage(workspace_);
  auto* plan = new PlanPage(workspace_);
  auto* timeline = new TimelinePage(workspace_);
  // The order in which a user needs them: the error, a plan, a run, then the details.
  pages_ = {start_,
            new HistoryPage(workspace_),
            new FrontierPage(workspace_),
            plan,
            new RunPage(workspace_),
            timeline,
            decoder,
            layers};
  for (Page* page : pages_) {
    tabs_->addTab(page, page->title());
    connect(page, &Page::message, this,
            [this](const QString& text) { statusBar()->showMessage(text, kMessageMilliseconds); });
    connect(page, &Page::busyChanged, this, &MainWindow::showBusy);
    connect(page, &Page::pageAsked, this, &MainWindow::showPage);
    connect(page, &Page::openAsked, this, &MainWindow::chooseFiles);
  }
  connect(decoder, &DecoderPage::passAsked, plan, [this, plan](int pass, int tile) {
    showPage(plan->key());
    plan->choosePass(pass);
    plan->chooseTile(tile);
  });
  connect(timeline, &TimelinePage::lowerAsked, plan, [this, plan] {
    showPage(plan->key());
    plan->showLowerPeak();
  });
  connect(decoder, &DecoderPage::layerAsked, layers, [this, layers](const QString& name) {
    showPage(layers->key());
    if (!layers->chooseLayer(name)) Q_EMIT layers->message(tr("The profile has no layer %1.").arg(name));
  });
  start_->setRecentFiles(settings_.recent_files);
  connect(start_, &StartPage::planAsked, this, [this] { showPage(QStringLiteral("frontier")); });
  connect(tabs_, &QTabWidget::currentChanged, this, &MainWindow::pageShown);
}

Page* MainWindow::currentPage() const {
  const int at = tabs_->currentIndex();
  return at < 0 || at >= std::ssize(pages_) ? nullptr : pages_[static_cast<size_t>(at)];
}

void MainWindow::showPage(const QString& key) {
  for (Page* page : pages_) {
    if (page->key() == key) tabs_->setCurrentWidget(page);
  }
}

void MainWindow::pageShown() {
  const Page* page = currentPage();
  if (page == nullptr) return;
  setWindowTitle(tr("%1 – Headroom").arg(page->title()));
  if (page_actions_ == nullptr) return;
  const QList<QAction*> actions = page_actions_->actions();
  if (tabs_->currentIndex() < actions.size()) actions[tabs_->currentIndex()]->setChecked(true);
}

bool MainWindow::busy() const {
  return workspace_.busy() ||
         std::any_of(pages_.begin(), pages_.end(), [](const Page* page) { return page->busy(); });
}

void MainWindow::showBusy() {
  busy_->setVisible(busy());
}

void MainWindow::chooseFiles() {
  auto* dialog = new QFileDialog(this, tr("Open files"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::ExistingFiles);
  dialog->setNameFilters(
      {tr("Headroom's files and PyTorch's memory (*.json *.pickle *.pkl)"), tr("All files (*)")});
  if (!settings_.recent_files.isEmpty())
    dialog->setDirectory(QFileInfo(settings_.recent_files.first()).absolutePath());
  connect(dialog, &QFileDialog::filesSelected, &workspace_,
          [this](const QStringList& files) { workspace_.open(files); });
  dialog->open();
}

void MainWindow::chooseModel(const QString& plan) {
  auto* dialog = new QFileDialog(this, tr("Folder of the model of %1").arg(QFileInfo(plan).fileName()),
                                 QFileInfo(plan).absolutePath());
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setFileMode(QFileDialog::Directory);
  connect(dialog, &QFileDialog::fileSelected, this, [this, plan](const QString& folder) {
    messages_->dismissPlan(plan);
    workspace_.open({plan}, folder);
  });
  dialog->open();
}

void MainWindow::fileOpened(const reports::DocumentPtr& document) {
  const QString file = QString::fromStdString(document->file.string());
  if (!workspace_.isUsed(*document)) {  // a temporary plan does not outlive the window
    settings_.recent_files.removeAll(file);
    settings_.recent_files.prepend(file);
    while (settings_.recent_files.size() > kMostRecent) settings_.recent_files.removeLast();
    start_->setRecentFiles(settings_.recent_files);
  }
  statusBar()->showMessage(
      QString::fromStdString(document->file.filename().string() + ": " + reports::summary(*document)),
      kMessageMilliseconds);
  // If several files are opened, the file with the most to see decides the page.
  const QString page = page_of(*document);
  const bool much = page == QLatin1String("timeline") || page == QLatin1String("history");
  if (currentPage() == start_ && (page_after_reading_.isEmpty() || much)) page_after_reading_ = page;
  Q_EMIT settingsChanged();
}

void MainWindow::filesRead(bool busy) {
  showBusy();
  if (busy || page_after_reading_.isEmpty()) return;
  if (currentPage() == start_) showPage(page_after_reading_);
  page_after_reading_.clear();
}

void MainWindow::documentsChanged() {
  // Opening the first file shows the list, and closing the last hides it. In between, the user decides.
  const bool any = !workspace_.documents().empty();
  if (any == any_documents_) return;
  any_documents_ = any;
  documents_->setVisible(any);
  if (any && settings_.docks.isEmpty()) narrowDock();
}

void MainWindow::rememberViews(WindowSettings& settings) const {
  for (const Page* page : pages_) {
    const auto splitters = splitters_of(*page);
    for (auto at = splitters.begin(); at != splitters.end(); ++at) {
      // A splitter that was never shown has no sizes to remember.
      const QList<int> sizes = at.value()->sizes();
      if (std::any_of(sizes.begin(), sizes.end(), [](int size) { return size > 0; }))
        settings.views[at.key()] = at.value()->saveState();
    }
  }
}

void MainWindow::restoreViews() {
  for (const Page* page : pages_) {
    const auto splitters = splitters_of(*page);
    for (auto at = splitters.begin(); at != splitters.end(); ++at) {
      if (settings_.views.contains(at.key())) at.value()->restoreState(settings_.views[at.key()]);
    }
  }
}

WindowSettings MainWindow::settings() const {
  WindowSettings settings = settings_;
  rememberViews(settings);
  if (const Page* page = currentPage()) settings.page = page->key();
  settings.geometry = saveGeometry();
  settings.docks = saveState();
  return settings;
}

void MainWindow::closeEvent(QCloseEvent* event) {
  Q_EMIT settingsChanged();
  QMainWindow::closeEvent(event);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!local_files(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QStringList files = local_files(*event->mimeData());
  if (files.isEmpty()) return;
  event->acceptProposedAction();
  workspace_.open(files);
}

}  // namespace headroom::gui
