#include "gui/view/main_window.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QDir>
#include <QDropEvent>
#include <QFile>
#include <QFileDialog>
#include <QImage>
#include <QLabel>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QSplitter>
#include <QTabWidget>
#include <QTemporaryFile>
#include <QTest>
#include <QToolButton>
#include <QXmlStreamReader>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/validator/validator.h"
#include "gui/program/run.h"
#include "gui/view/drop_area.h"
#include "gui/view/frontier_page.h"
#include "gui/view/lower_peak_box.h"
#include "gui/view/message_bar.h"
#include "gui/view/screenshots.h"
#include "gui/view/start_page.h"
#include "tests/gui/support/shown.h"

namespace headroom::gui {
namespace {

using test::open;
using test::sample_files;
using test::ShownWindow;
using test::wait_until;

TEST_CASE("the program has an icon where no desktop knows one") {
  CHECK_FALSE(window_icon().pixmap(64, 64).isNull());
}

TEST_CASE("main window: bad files are named in a bar that can be dismissed, and what was open stays") {
  ShownWindow shown;
  MainWindow& window = shown.window;
  Workspace& workspace = shown.workspace;
  open(workspace, {sample_files().file("plan.json")});
  const test::Scratch folder;
  for (const test::BadFile& bad : test::bad_files()) {
    CAPTURE(bad.name);
    open(workspace, {QString::fromStdString(folder.write(bad.name, bad.content).string())});
    REQUIRE(window.messages().messages().size() == 1);
    CHECK(window.messages().messages()[0].toStdString().find(bad.name) != std::string::npos);
    CHECK(window.messages().isVisible());
    CHECK(QApplication::activeModalWidget() == nullptr);
    CHECK(workspace.documents().size() == 1);
    window.messages().dismissAll();
    CHECK_FALSE(window.messages().isVisible());
  }
}

TEST_CASE("main window: an export does not replace a file that is open") {
  ShownWindow shown;
  MainWindow& window = shown.window;
  const QString plan = sample_files().file("plan.json");
  const std::string before = test::read_bytes(plan.toStdString());
  open(shown.workspace, {plan});
  QMenu* exports = nullptr;
  for (QMenu* menu : window.menuBar()->findChildren<QMenu*>())
    if (menu->title() == QStringLiteral("&Export view")) exports = menu;
  REQUIRE(exports != nullptr);
  window.showPage("plan");
  wait_until([&] { return !window.busy() && !window.currentPage()->exports().empty(); });
  Q_EMIT exports->aboutToShow();
  REQUIRE(exports->actions().first()->isEnabled());
  exports->actions().first()->trigger();
  auto* dialog = window.findChild<QFileDialog*>();
  REQUIRE(dialog != nullptr);
  Q_EMIT dialog->fileSelected(plan);
  REQUIRE(window.messages().messages().size() == 1);
  CHECK_THAT(window.messages().messages()[0].toStdString(), Catch::Contains("would overwrite"));
  CHECK(test::read_bytes(plan.toStdString()) == before);
}

TEST_CASE("main window: a plan whose model is not found is opened by naming the model's folder") {
  ShownWindow shown;
  MainWindow& window = shown.window;
  Workspace& workspace = shown.workspace;
  const test::Scratch folder;
  nlohmann::json document = nlohmann::json::parse(test::read_bytes(sample_files().folder() / "plan.json"));
  const std::string model = document["request"]["model"];
  document["request"]["model"] = "models/of a colleague";
  const QString plan = QString::fromStdString(folder.write("plan.json", document.dump()).string());
  open(workspace, {plan});
  REQUIRE(window.messages().messages().size() == 1);
  CHECK_THAT(window.messages().messages()[0].toStdString(), Catch::Contains("models/of a colleague"));
  auto* button = window.messages().findChild<QPushButton*>();
  REQUIRE(button != nullptr);
  button->click();
  auto* dialog = window.findChild<QFileDialog*>();
  REQUIRE(dialog != nullptr);
  Q_EMIT dialog->fileSelected(QString::fromStdString(model));
  wait_until([&] { return !workspace.busy(); });
  REQUIRE(workspace.documents().size() == 1);
  CHECK(window.messages().messages().isEmpty());
  CHECK(workspace.question().request.model == model);  // what the other pages plan and run with
  workspace.close(workspace.documents().front());
  // From the command line.
  workspace.open({plan}, QString::fromStdString(model));
  wait_until([&] { return !workspace.busy(); });
  CHECK(workspace.documents().size() == 1);
}

TEST_CASE("message bar: shows the newest first, each once, and not more than five") {
  MessageBar bar;
  for (int i = 0; i < 8; ++i) bar.add({QString("fault %1").arg(i), {}});
  bar.add({"fault 7", {}});
  CHECK(bar.messages() == QStringList{"fault 7", "fault 6", "fault 5", "fault 4", "fault 3"});
}

TEST_CASE("main window: remembers page, language, files and splitters") {
  QTemporaryFile file;
  REQUIRE(file.open());
  {
    Workspace workspace;
    MainWindow window(workspace, test::settings_in("en"));
    window.resize(1111, 777);
    window.show();
    open(workspace, sample_files().all());
    wait_until_idle(window);
    window.showPage("layers");
    QApplication::processEvents();
    auto* splitter = window.currentPage()->findChild<QSplitter*>("layers");
    REQUIRE(splitter != nullptr);
    splitter->setSizes({150, 400});
    // A language that is chosen is that of the next start.
    for (QAction* action : window.findChildren<QAction*>())
      if (action->text().contains("(&Z)")) action->trigger();
    CHECK(window.currentPage()->title() == "Layers");
    QSettings kept(file.fileName(), QSettings::IniFormat);
    write_settings(kept, window.settings());
  }
  QSettings kept(file.fileName(), QSettings::IniFormat);
  const WindowSettings settings = read_settings(kept);
  CHECK(settings.page == "layers");
  CHECK(settings.language == "zh_CN");
  CHECK(settings.recent_files.size() == 5);
  Workspace workspace;
  MainWindow window(workspace, settings);
  window.show();
  CHECK(window.size() == QSize(1111, 777));
  CHECK(window.currentPage()->key() == "layers");
  CHECK(window.currentPage()->title() != "Layers");
  CHECK(window.menuBar()->actions().first()->text() != "&File");
  open(workspace, {sample_files().file("profile.json")});
  QApplication::processEvents();
  const QList<int> sizes = window.currentPage()->findChild<QSplitter*>("layers")->sizes();
  CHECK(double(sizes[0]) / (sizes[0] + sizes[1]) == Approx(150.0 / 550).margin(0.08));
}

TEST_CASE("main window: the first files lead from the start page to what they show, later ones do not") {
  ShownWindow shown;
  MainWindow& window = shown.window;
  CHECK(window.currentPage()->key() == "start");
  open(shown.workspace, {sample_files().file("profile.json"), sample_files().file("trace.json")});
  CHECK(window.currentPage()->key() == "timeline");
  window.showPage("layers");
  open(shown.workspace, {sample_files().file("plan.json")});
  CHECK(window.currentPage()->key() == "layers");
}

TEST_CASE("main window: beside the tabs stands what explains the words") {
  ShownWindow shown;
  const auto* words = qobject_cast<QToolButton*>(shown.window.findChild<QTabWidget*>()->cornerWidget());
  REQUIRE(words != nullptr);
  CHECK(words->isVisible());
  CHECK(words->defaultAction()->shortcut() == QKeySequence(QKeySequence::HelpContents));
}

TEST_CASE("main window: the tour leaves no page empty") {
  ShownWindow shown;
  const QDir tour(HEADROOM_TEST_DATA "/../../docs/tour");
  QStringList files;
  for (const QString& name : tour.entryList(QDir::Files)) files << tour.filePath(name);
  open(shown.workspace, files);
  CHECK(shown.window.messages().messages().isEmpty());
  for (Page* page : shown.window.pages()) {
    CAPTURE(page->key().toStdString());
    shown.window.showPage(page->key());
    wait_until_idle(shown.window);
    CHECK((page->key() == "start" || !page->exports().empty()));
  }
}

TEST_CASE("main window: files can be dropped") {
  ShownWindow shown;
  MainWindow& window = shown.window;
  QMimeData data;
  data.setUrls(
      {QUrl::fromLocalFile(sample_files().file("stats.json")), QUrl("https://example.org/plan.json")});
  // A drop goes to whom the drag has entered.
  QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&window, &enter);
  CHECK(enter.isAccepted());
  QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(&window, &drop);
  wait_until([&] { return !shown.workspace.busy(); });
  CHECK(shown.workspace.documents().size() == 1);
}

TEST_CASE("main window: every page has a key of its own and a shortcut, every menu entry a mnemonic") {
  ShownWindow shown;
  MainWindow& window = shown.window;
  window.activateWindow();
  CHECK(QTest::qWaitForWindowActive(&window));
  QStringList keys;
  for (size_t i = 0; i < window.pages().size(); ++i) {
    const Page* page = window.pages()[i];
    CHECK_FALSE(page->title().isEmpty());
    CHECK_FALSE(keys.contains(page->key()));
    keys << page->key();
    QTest::keyClick(&window, static_cast<Qt::Key>(Qt::Key_1 + int(i)), Qt::ControlModifier);
    CHECK(window.currentPage() == page);
  }
  CHECK(keys == QStringList{"start", "history", "frontier", "plan", "run", "timeline", "decoder", "layers"});
  for (const QAction* menu : window.menuBar()->actions()) {
    CHECK(menu->text().contains('&'));
    for (const QAction* action : menu->menu()->actions()) {
      CAPTURE(action->text().toStdString());
      CHECK((action->isSeparator() || action->text().contains('&') || action->text() == "Open files"));
    }
  }
}

TEST_CASE("main window: a plan that is used is shown, and what can be done with it is said there") {
  ShownWindow shown;
  MainWindow& window = shown.window;
  Workspace& workspace = shown.workspace;
  open(workspace, {sample_files().file("plan.json")});
  window.showPage("frontier");
  wait_until_idle(window);
  window.currentPage()->findChild<QPushButton*>("use-plan")->click();
  wait_until_idle(window);
  REQUIRE(window.currentPage()->key() == "plan");
  const reports::DocumentPtr used = workspace.chosen<reports::PlanDocument>();
  REQUIRE(used != nullptr);
  CHECK(used->file != sample_files().file("plan.json").toStdString());
  CHECK(window.settings().recent_files == QStringList{sample_files().file("plan.json")});
  auto* bar = window.currentPage()->findChild<UsedPlanBar*>();
  REQUIRE(bar != nullptr);
  CHECK(bar->isVisible());
  bar->findChild<QPushButton*>("run-used-plan")->click();
  CHECK(window.currentPage()->key() == "run");
  // Saved, it is a file like any other, and the only one of this plan.
  const test::Scratch folder;
  bar->save(QString::fromStdString(folder / "kept.json"));
  wait_until_idle(window);
  CHECK_FALSE(bar->isVisibleTo(bar->parentWidget()));
  CHECK(workspace.chosen<reports::PlanDocument>()->file == folder / "kept.json");
  CHECK(workspace.documents().size() == 2);
}

TEST_CASE("screenshots: every page is written, in both languages") {
  const std::string language = GENERATE("en", "zh_CN");
  CAPTURE(language);
  ShownWindow shown(language.c_str());
  MainWindow& window = shown.window;
  shown.workspace.open(sample_files().all());
  wait_until_idle(window);
  const test::Scratch folder;
  write_screenshots(window, QString::fromStdString(folder.folder().string()));
  std::vector<std::string> expected{"memory.png", "scaling.png"};  // views of Timeline and Frontier
  for (const Page* page : window.pages()) expected.push_back(page->key().toStdString() + ".png");
  std::sort(expected.begin(), expected.end());
  CHECK(folder.files() == expected);
  for (const std::string& name : expected) {
    CAPTURE(name);
    CHECK(QImage(QString::fromStdString((folder / name).string())).size() == QSize(1280, 800));
  }
  CHECK(window.messages().messages().isEmpty());
}

TEST_CASE("start page: finds the demo's files beside the program or above it") {
  const test::Scratch folder;
  std::filesystem::create_directories(folder / "build" / "bin");
  const QString program = QString::fromStdString((folder / "build" / "bin").string());
  CHECK(demo_files(program).isEmpty());
  std::filesystem::create_directories(folder / "demo");
  folder.write("demo/trace.json", "{}");
  folder.write("demo/plan.json", "{}");
  folder.write("demo/other.json", "{}");
  const QString demo = QString::fromStdString((folder / "demo").string());
  CHECK(demo_files(program) == QStringList{demo + "/plan.json", demo + "/trace.json"});
}

TEST_CASE("start page: an example is the tour where there is no demo") {
  const test::Scratch folder;
  std::filesystem::create_directories(folder / "build" / "bin");
  std::filesystem::create_directories(folder / "docs" / "tour");
  folder.write("docs/tour/plan.json", "{}");
  const QString program = QString::fromStdString((folder / "build" / "bin").string());
  const QString tour = QString::fromStdString((folder / "docs" / "tour").string());
  CHECK(demo_files(program) == QStringList{tour + "/plan.json"});
}

TEST_CASE("start page: begins with the lines that record a snapshot, as the docs have them, and takes it") {
  ShownWindow shown;
  MainWindow& window = shown.window;
  const auto* lines = window.currentPage()->findChild<QLabel*>("recording-lines");
  REQUIRE(lines != nullptr);
  CHECK(lines->isVisible());
  CHECK_THAT(test::read_bytes(HEADROOM_TEST_DATA "/../../docs/evidence.md"),
             Catch::Contains(lines->text().toStdString()));
  window.currentPage()->findChild<QPushButton*>("copy-lines")->click();
  CHECK(QApplication::clipboard()->text() == lines->text() + '\n');
  // The plan is second.
  const auto* plan = window.currentPage()->findChild<QPushButton*>("plan-a-decode");
  REQUIRE(plan != nullptr);
  CHECK(plan->mapTo(&window, QPoint()).y() > lines->mapTo(&window, QPoint()).y());
  auto* area = window.currentPage()->findChild<DropArea*>("drop-snapshot");
  REQUIRE(area != nullptr);
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(HEADROOM_TEST_DATA "/memory_histories/torch-2.11.pickle")});
  QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(area, &enter);
  CHECK(enter.isAccepted());
  QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(area, &drop);
  wait_until_idle(window);
  CHECK(window.currentPage()->key() == "history");
}

TEST_CASE("main window: a page without files says what it shows, with buttons to what it needs") {
  ShownWindow shown;
  MainWindow& window = shown.window;
  const auto click = [&](const char* page, const char* button) {
    window.showPage(page);
    auto* found = window.currentPage()->findChild<QPushButton*>(button);
    CAPTURE(page, button);
    REQUIRE(found != nullptr);
    CHECK(found->isVisible());
    found->click();
    return window.currentPage()->key();
  };
  CHECK(click("plan", "go-to-frontier") == "frontier");
  CHECK(click("timeline", "go-to-run") == "run");
  CHECK(click("decoder", "go-to-frontier") == "frontier");
  CHECK(click("layers", "go-to-run") == "run");
  CHECK(click("history", "open-snapshot") == "history");
  CHECK(window.findChild<QFileDialog*>() != nullptr);
}

TEST_CASE("main window: the pages that plan begin with the decode of the first file") {
  ShownWindow shown;
  open(shown.workspace, {sample_files().file("frontier.json")});
  const Request& request = shown.workspace.question().request;
  CHECK(request.model == sample_files().plan().plan.request.model);
  CHECK(request.width_pixels == sample_files().plan().plan.request.width_pixels);
}

TEST_CASE("main window: what would lower the peak is a tab of the page Plan") {
  ShownWindow shown;
  MainWindow& window = shown.window;
  open(shown.workspace, {sample_files().file("plan.json")});
  window.showPage("timeline");
  wait_until_idle(window);
  window.currentPage()->findChild<QPushButton*>("lower-it")->click();
  CHECK(window.currentPage()->key() == "plan");
  CHECK(window.currentPage()->findChild<LowerPeakBox*>()->isVisible());
}

TEST_CASE("translation: nothing is unfinished") {
  for (const QString& name : QDir(HEADROOM_TEST_DATA "/../../gui/translation").entryList({"*.ts"})) {
    QFile file(HEADROOM_TEST_DATA "/../../gui/translation/" + name);
    REQUIRE(file.open(QIODevice::ReadOnly));
    QXmlStreamReader xml(&file);
    QString context, source;
    int messages = 0;
    while (!xml.atEnd()) {
      if (xml.readNext() != QXmlStreamReader::StartElement) continue;
      if (xml.name() == u"name") context = xml.readElementText();
      if (xml.name() == u"source") source = xml.readElementText();
      if (xml.name() != u"translation") continue;
      CAPTURE(name.toStdString(), context.toStdString(), source.toStdString());
      CHECK_FALSE(xml.attributes().hasAttribute("type"));
      const QString translation = xml.readElementText();
      CHECK_FALSE(translation.isEmpty());
      for (const char* place : {"%1", "%2", "%3", "%4", "%5"})
        CHECK(source.contains(place) == translation.contains(place));
      ++messages;
    }
    CHECK_FALSE(xml.hasError());
    CHECK(messages > 150);
  }
}

TEST_CASE("command line of headroom-gui") {
  std::ostringstream out;
  const auto arguments = gui_arguments(
      {"a.json", "b.json", "--language", "zh_CN", "--size", "800x600", "--scale", "1.5", "--model", "vae"},
      out);
  REQUIRE(arguments);
  CHECK(arguments->files == std::vector<std::string>{"a.json", "b.json"});
  CHECK(arguments->model == "vae");
  CHECK(arguments->language == "zh_CN");
  CHECK(arguments->scale == 1.5);
  CHECK(arguments->width == 800);
  CHECK(arguments->height == 600);
  CHECK_FALSE(gui_arguments({"--help"}, out));
  CHECK(out.str().find("--screenshot") != std::string::npos);
  out.str({});
  CHECK_FALSE(gui_arguments({"--version"}, out));
  CHECK(out.str() == "headroom-gui " HEADROOM_VERSION "\n");
  test::require_input_error([&] { gui_arguments({"--size", "800"}, out); }, {"--size"});
  test::require_input_error([&] { gui_arguments({"--scale", "40"}, out); }, {"--scale"});
  test::require_input_error([&] { gui_arguments({"--size", "99999x1"}, out); }, {"--size"});
  test::require_input_error([&] { gui_arguments({"--nonsense"}, out); }, {"--nonsense"});
}

}  // namespace
}  // namespace headroom::gui
