#include "gui/view/run_page.h"

#include <qcustomplot.h>

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QRadioButton>
#include <QSignalSpy>
#include <QTest>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/plan/stats_file.h"
#include "gui/view/chart_view.h"
#include "gui/view/run_form.h"
#include "planner/program/run.h"
#include "tests/gui/sample_files.h"
#include "tests/gui/support/fake_programs.h"
#include "tests/support/program.h"

namespace headroom::gui {
namespace {

using headroom::test::call;
using headroom::test::Scratch;
using test::FakePrograms;
using test::tells;
using test::wait_until;
using State = ChildRun::State;

constexpr const char* kModel = HEADROOM_TEST_DATA "/demo_model";

/// A page whose fields hold a good decode of the demo's model within a limit.
struct Ready {
  Scratch scratch;
  Workspace workspace;
  RunPage page{workspace};

  Ready() {
    page.resize(1000, 700);
    page.show();
    find<QComboBox>("model")->setEditText(kModel);
    find<QCheckBox>("random")->setChecked(true);
    find<QRadioButton>("by-limit")->setChecked(true);
    find<QLineEdit>("limit")->setText("64MiB");
    find<QLineEdit>("latent")->setText(write_latent(8, 12));
    find<QLineEdit>("output")->setText(file("out.png"));
  }
  template <typename T>
  T* find(const char* name) {
    T* found = page.findChild<T*>(name);
    INFO(name);
    REQUIRE(found != nullptr);
    return found;
  }
  QString file(const char* name) const { return QString::fromStdString((scratch / name).string()); }
  /// A latent of ramps, 1×4×rows×columns.
  QString write_latent(int64_t rows, int64_t columns) const {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4, " + std::to_string(rows) +
                         ", " + std::to_string(columns) + "), }";
    header.resize(117, ' ');
    header += '\n';
    std::vector<float> values(static_cast<size_t>(4 * rows * columns));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(i % 17) / 8 - 1;
    scratch.write("latent.npy",
                  std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + headroom::test::bytes_of(values));
    return file("latent.npy");
  }
  void click(const char* name) { QTest::mouseClick(find<QPushButton>(name), Qt::LeftButton); }
  void run_to_end() {
    click("start");
    REQUIRE(page.run().state() != State::idle);
    wait_until([&] { return !page.busy(); });
  }
  std::string report() { return find<QLabel>("report")->text().toStdString(); }
  QString note(const char* field) {
    const QLabel* label = find<QLabel>((std::string("note-") + field).c_str());
    return label->isHidden() ? QString() : label->text();
  }
};

/// The shell's variables `stats`, `trace` and `preview` are the options' values.
constexpr const char* kReadOptions = R"(all="$*"
while [ $# -gt 0 ]; do
  case "$1" in
    --stats) stats="$2" ;;
    --trace) trace="$2" ;;
    --preview) preview="$2" ;;
    --output) output="$2" ;;
  esac
  shift
done
)";

TEST_CASE("run page: before the first run it says what the form lacks") {
  Workspace workspace;
  RunPage page(workspace);
  page.resize(1000, 700);
  page.show();
  const auto* missing = page.findChild<QLabel*>("missing");
  REQUIRE(missing != nullptr);
  CHECK(missing->isVisible());
  CHECK_THAT(missing->text().toStdString(), Catch::StartsWith("A run needs these inputs:") &&
                                                Catch::Contains("\nLatent: ") &&
                                                Catch::Contains("\nLimit: Bytes such as 1.2GiB") &&
                                                Catch::Contains("\nOutput: A file in one of"));
  CHECK_FALSE(page.findChild<QProgressBar*>("progress")->isVisible());
  const Ready ready;
  const auto* there = ready.page.findChild<QLabel*>("missing");
  wait_until([&] { return there->text().startsWith("All inputs are there."); });
}

TEST_CASE("run page: a decode is started with what the fields say, shown, and its results are opened") {
  const FakePrograms fake;
  Ready ready;
  RunStats stats;
  stats.passes = {{"a", 10, 8, 0.5, 0.4}};
  stats.device = "a machine";
  const std::string stats_file = fake.scratch.write("stats.json", to_json(stats).dump());
  RunBegun begun{"headroom-decode"};
  begun.limit_bytes = 1000;
  begun.predicted_peak_bytes = 900;
  begun.passes = 2;
  fake.add("headroom-decode",
           std::string(kReadOptions) + "echo \"$all\" > '" + std::string(fake.scratch / "arguments") + "'\n" +
               tells(0, begun) + tells(0.1, PassStarted{0, 0, 2, "first"}) +
               tells(0.2, MemorySample{400, 700, 50}) + tells(0.5, PassStarted{0, 1, 2, "second"}) +
               tells(0.7, MemorySample{300, 800, 60}) +
               "printf 'P6\\n2 1\\n255\\n\\377\\000\\000\\200\\200\\200' > \"$preview\"\n" +
               tells(0.8, TileDone{0, 1, 0, 2, 0.5, PictureRegion{{0, 1}, {0, 1}}}) + "while [ ! -e '" +
               std::string(fake.scratch / "go") + "' ]; do sleep 0.02; done\n" +
               "printf 'P6\\n2 1\\n255\\n\\377\\000\\000\\000\\377\\000' > \"$preview\"\n" +
               tells(1, TileDone{0, 1, 1, 2, 1, PictureRegion{{0, 1}, {1, 2}}}) + "cp '" + stats_file +
               "' \"$stats\"\n" + tells(1.5, RunEnded{0, 860, 1.4}));
  QSignalSpy opened(&ready.workspace, &Workspace::opened), failed(&ready.workspace, &Workspace::failed);
  QSignalSpy busy(&ready.page, &Page::busyChanged), said(&ready.page, &Page::message);
  ready.find<QCheckBox>("trace")->setChecked(false);
  ready.click("start");
  CHECK(ready.page.busy());
  CHECK_FALSE(ready.find<QPushButton>("start")->isEnabled());
  CHECK(ready.find<QPushButton>("cancel")->isEnabled());

  // The preview comes tile by tile.
  const auto* picture = ready.page.findChild<PictureView*>();
  wait_until([&] { return !picture->image().isNull(); });
  CHECK(picture->image().pixelColor(0, 0) == QColor(255, 0, 0));
  CHECK(picture->image().pixelColor(1, 0) == QColor(128, 128, 128));
  CHECK(ready.find<QProgressBar>("progress")->value() == 500);
  CHECK_THAT(ready.find<QLabel>("status")->text().toStdString(),
             Catch::Contains("pass 2 of 2") && Catch::Contains("second") && Catch::Contains("left"));
  const reports::Chart chart = ready.page.findChild<ChartView*>()->chart();
  REQUIRE(chart.guides.size() == 2);
  CHECK(chart.guides[0].at == 1000);
  CHECK(chart.guides[1].at == 900);
  REQUIRE(chart.series.size() == 2);
  REQUIRE(chart.series[0].x.size() == 4);
  const std::vector<double> told(chart.series[0].x.begin(), chart.series[0].x.end() - 1);
  CHECK(told == std::vector<double>{0, 0.2, 0.7});
  CHECK(chart.series[0].x.back() >= 0.8);  // what was told last holds until now
  CHECK(chart.series[0].y == std::vector<double>{700, 800, 300, 300});
  CHECK(chart.series[1].y == std::vector<double>{50, 60, 60, 60});
  REQUIRE(chart.spans.size() == 2);
  CHECK(chart.spans[0].name == "first");
  CHECK(chart.spans[0].begin == 0.1);
  CHECK(chart.spans[0].end == 0.5);

  fake.scratch.write("go", "");
  wait_until([&] { return !ready.page.busy(); });
  CHECK(ready.page.run().state() == State::done);
  CHECK(picture->image().pixelColor(1, 0) == QColor(0, 255, 0));
  CHECK(ready.find<QProgressBar>("progress")->value() == 1000);
  CHECK_THAT(ready.report(), Catch::StartsWith("Done in 1.4") && Catch::Contains(".stats.json"));
  CHECK(said.size() == 1);
  CHECK(busy.size() == 2);
  CHECK(ready.find<QPushButton>("start")->isEnabled());
  CHECK_FALSE(ready.find<QPushButton>("cancel")->isEnabled());
  wait_until([&] { return opened.size() + failed.size() > 0; });
  CHECK(failed.isEmpty());
  REQUIRE(ready.workspace.chosen<RunStats>() != nullptr);
  CHECK(ready.workspace.chosen<RunStats>()->as<RunStats>()->device == "a machine");
  CHECK(ready.workspace.chosen<RunStats>()->file == ready.scratch / "out.stats.json");

  const std::string arguments = headroom::test::read_bytes(fake.scratch / "arguments");
  CHECK_THAT(arguments, Catch::Contains(std::string("--model ") + kModel) &&
                            Catch::Contains("--random-weights 0") && Catch::Contains("--limit 64MiB") &&
                            Catch::Contains("--progress lines") && !Catch::Contains("--trace"));
}

TEST_CASE(
    "run page: within a pass of one tile, steps are told, the clock goes on and the limit is in sight") {
  const FakePrograms fake;
  Ready ready;
  RunBegun begun{"headroom-decode"};
  begun.limit_bytes = 1'000'000;
  begun.passes = 2;
  fake.add("headroom-decode", tells(0, begun) + tells(0.1, PassStarted{0, 0, 2, "the longest"}) +
                                  tells(0.2, MemorySample{400, 700, 50}) +
                                  tells(0.3, StepsDone{0, 0, 0, 3, 8, 0.25, 0.375}) + "while [ ! -e '" +
                                  std::string(fake.scratch / "go") + "' ]; do sleep 0.02; done\n" +
                                  tells(9, RunEnded{0, 860, 1.4}));
  ready.click("start");
  wait_until([&] { return ready.find<QProgressBar>("progress")->value() == 250; });
  CHECK_THAT(ready.find<QLabel>("status")->text().toStdString(),
             Catch::Contains("pass 1 of 2") && Catch::Contains("step 4 of 8 (38 %)"));
  auto* view = ready.page.findChild<ChartView*>();
  const double before = view->visibleRange().second;
  CHECK(before >= 0.3);
  wait_until([&] { return view->visibleRange().second > before + 0.3; });  // without any news
  CHECK(view->plot()->yAxis->range().upper >= 1'000'000);                  // 1400 times what is on the device
  CHECK(view->chart().spans[0].end == Approx(view->visibleRange().second));
  fake.scratch.write("go", "");
  wait_until([&] { return !ready.page.busy(); });
}

TEST_CASE("run page: the latent's scaling is found out unless another one is chosen") {
  const FakePrograms fake;
  Ready ready;
  auto* scale = ready.find<QComboBox>("latent-scale");
  CHECK(scale->isVisible());
  CHECK(scale->currentData().toString() == "auto");
  const auto* note = ready.find<QLabel>("latent-note");
  for (const char* word : {"auto", "model", "none"}) {
    CAPTURE(word);
    const bool warns = std::string(word) == "none";
    fake.add("headroom-decode",
             "echo \"$*\" > '" + std::string(fake.scratch / "arguments") + "'\necho 'headroom-decode: " +
                 (warns ? "warning: cannot tell whether this latent is scaled" : "latent: scaling undone") +
                 "' >&2");
    REQUIRE(scale->findData(word) >= 0);
    scale->setCurrentIndex(scale->findData(word));
    ready.run_to_end();
    CHECK_THAT(headroom::test::read_bytes(fake.scratch / "arguments"),
               Catch::Contains(std::string("--latent-scale ") + word));
    CHECK(note->isVisible());
    CHECK_THAT(note->text().toStdString(), Catch::Contains("latent"));
    CHECK(note->styleSheet().isEmpty() == !warns);  // only a warning is highlighted
  }
}

TEST_CASE("run page: a decode and a measurement run on the chosen device, a plan on its own") {
  const FakePrograms fake;
  Ready ready;
  for (const char* program : {"headroom-decode", "headroom-profile"})
    fake.add(program, "echo \"$*\" > '" + std::string(fake.scratch / "arguments") + "'");
  const auto arguments = [&] { return headroom::test::read_bytes(fake.scratch / "arguments"); };
  auto* device = ready.find<QComboBox>("device");
  CHECK(device->isVisible());
  ready.run_to_end();
  CHECK_THAT(arguments(), Catch::Contains("--device cpu") && !Catch::Contains("--verify"));
  // The device of the question is that of the run.
  PlanningQuestion question = ready.workspace.question();
  question.request.model = kModel;
  question.request.device = DeviceKind::cuda;
  ready.workspace.ask(question);
  CHECK(device->currentText() == "NVIDIA GPU");
  ready.find<QCheckBox>("verify")->setChecked(true);
  ready.run_to_end();
  CHECK_THAT(arguments(), Catch::Contains("--device cuda") && Catch::Contains("--verify"));
  ready.find<QRadioButton>("measure")->setChecked(true);
  CHECK(device->isVisible());
  ready.find<QLineEdit>("sizes")->setText("64x64");
  ready.find<QLineEdit>("output")->setText(ready.file("profile.json"));
  ready.run_to_end();
  CHECK_THAT(arguments(), Catch::Contains("--device cuda") && !Catch::Contains("--verify"));
  ready.find<QRadioButton>("decode")->setChecked(true);
  ready.find<QRadioButton>("by-plan")->setChecked(true);
  CHECK_FALSE(device->isVisible());
}

TEST_CASE("run page: without CUDA or a GPU it says so, and what to do") {
  const FakePrograms fake;
  Ready ready;
  auto* device = ready.find<QComboBox>("device");
  device->setCurrentIndex(device->findData("cuda"));
  for (const std::string fault : {"built without CUDA: there is no headroom-cuda.so beside the program",
                                  "cannot use CUDA: no GPU: no NVIDIA driver is loaded"}) {
    fake.add("headroom-decode", "echo 'headroom-decode: " + fault + "' >&2\nexit 5");
    ready.run_to_end();
    CHECK_THAT(ready.report(), Catch::Contains(fault) && Catch::Contains("Choose the device CPU"));
  }
  fake.add("headroom-decode", "echo 'headroom-decode: a CUDA error' >&2\nexit 5");
  ready.run_to_end();
  CHECK_THAT(ready.report(), !Catch::Contains("Choose the device CPU"));
}

TEST_CASE("run page: after a run its results are one click away") {
  const FakePrograms fake;
  Ready ready;
  QSignalSpy led(&ready.page, &Page::pageAsked);
  auto *look = ready.find<QPushButton>("look"), *output = ready.find<QPushButton>("open-output");
  CHECK_FALSE(look->isVisible());
  fake.add("headroom-decode", "exit 3");
  ready.run_to_end();
  CHECK_FALSE(look->isVisible());
  CHECK_FALSE(output->isVisible());
  fake.add("headroom-decode", "exit 0");
  fake.add("headroom-profile", "exit 0");
  ready.run_to_end();
  CHECK(output->isVisible());
  look->click();
  ready.find<QCheckBox>("trace")->setChecked(false);
  ready.run_to_end();
  look->click();
  ready.find<QRadioButton>("measure")->setChecked(true);
  ready.find<QLineEdit>("sizes")->setText("64x64");
  ready.find<QLineEdit>("output")->setText(ready.file("profile.json"));
  ready.run_to_end();
  CHECK_FALSE(output->isVisible());
  look->click();
  QStringList pages;
  for (const QList<QVariant>& page : led) pages << page[0].toString();
  CHECK(pages == QStringList{"timeline", "plan", "layers"});
}

TEST_CASE("run page: what is wrong is said at its field, and nothing is started") {
  const FakePrograms fake;
  Ready ready;
  ready.find<QLineEdit>("limit")->setText("lots");
  ready.find<QLineEdit>("output")->setText("out.gif");
  ready.click("start");
  CHECK(ready.page.run().state() == State::idle);
  CHECK_THAT(ready.note("limit").toStdString(),
             Catch::StartsWith("expected bytes") && Catch::Contains("lots"));
  CHECK_THAT(ready.note("output").toStdString(), Catch::Contains(".png"));
  CHECK(ready.note("latent").isEmpty());
  CHECK(ready.page.focusWidget() == ready.find<QLineEdit>("limit"));

  // Put right, it is gone; Enter starts.
  ready.find<QLineEdit>("limit")->setText("64MiB");
  ready.find<QLineEdit>("output")->setText(ready.file("out.png"));
  fake.add("headroom-decode", "exit 0");
  QTest::keyClick(ready.find<QLineEdit>("limit"), Qt::Key_Return);
  CHECK(ready.note("limit").isEmpty());
  wait_until([&] { return ready.page.run().state() == State::done; });
}

TEST_CASE("run page: without a plan a limit is chosen, and no field looks filled in that is empty") {
  Workspace workspace;
  RunForm form(workspace);
  auto& by_plan = *form.findChild<QRadioButton*>("by-plan");
  CHECK_FALSE(by_plan.isEnabled());
  CHECK(form.findChild<QRadioButton*>("by-limit")->isChecked());
  CHECK(form.findChild<QLineEdit*>("output")->placeholderText().isEmpty());
  test::open(workspace, {test::sample_files().file("plan.json")});
  CHECK(by_plan.isEnabled());
  CHECK(by_plan.isChecked());
}

TEST_CASE("run page: only fields of what is run are there") {
  Ready ready;
  const auto visible = [&](const char* name) { return ready.find<QWidget>(name)->isVisible(); };
  CHECK(visible("latent"));
  CHECK(visible("limit"));
  CHECK_FALSE(visible("plan"));
  CHECK_FALSE(visible("sizes"));
  CHECK_FALSE(visible("weights"));
  ready.find<QRadioButton>("by-plan")->setChecked(true);
  ready.find<QCheckBox>("random")->setChecked(false);
  CHECK(visible("plan"));
  CHECK_FALSE(visible("limit"));
  CHECK(visible("weights"));
  CHECK_FALSE(visible("seed"));
  ready.find<QRadioButton>("encode")->setChecked(true);
  CHECK(visible("picture"));
  CHECK(visible("by-plan"));
  for (const char* of_decodes : {"latent", "latent-scale", "sizes", "trace", "verify"}) {
    CAPTURE(of_decodes);
    CHECK_FALSE(visible(of_decodes));
  }
  ready.find<QRadioButton>("measure")->setChecked(true);
  CHECK(visible("sizes"));
  CHECK_FALSE(visible("picture"));
  CHECK_FALSE(visible("latent"));
  CHECK_FALSE(visible("plan"));
  CHECK_FALSE(visible("by-plan"));
  CHECK_FALSE(visible("trace"));
  CHECK_FALSE(visible("verify"));
}

TEST_CASE("run page: every field can be reached with the keyboard and says what it is") {
  Ready ready;
  for (const QWidget* widget : ready.page.findChildren<QWidget*>()) {
    const bool input = qobject_cast<const QLineEdit*>(widget) != nullptr ||
                       qobject_cast<const QComboBox*>(widget) != nullptr ||
                       qobject_cast<const QAbstractButton*>(widget) != nullptr;
    if (!input || !widget->isVisible() || qobject_cast<const QComboBox*>(widget->parentWidget()) != nullptr)
      continue;
    if (widget->objectName().startsWith("qt_")) continue;  // scroll bars and the like
    INFO(widget->objectName().toStdString() << " " << widget->metaObject()->className());
    CHECK((widget->focusPolicy() & Qt::TabFocus) != 0);
    const auto* button = qobject_cast<const QAbstractButton*>(widget);
    CHECK_FALSE(
        (button != nullptr ? button->text() + button->accessibleName() : widget->accessibleName()).isEmpty());
    CHECK_FALSE((widget->toolTip() + (widget->objectName() == "start" ? "-" : "")).isEmpty());
  }
}

TEST_CASE("run page: a decode that fails says why, and opens nothing") {
  const FakePrograms fake;
  Ready ready;
  QSignalSpy opened(&ready.workspace, &Workspace::opened), failed(&ready.workspace, &Workspace::failed);
  QSignalSpy said(&ready.page, &Page::message);
  SECTION("the limit is too small") {
    fake.add(
        "headroom-decode",
        tells(0, WorkDone{0, "planning"}) +
            "echo 'headroom-decode: no plan fits 1 KiB; the smallest limit that works is 20.1 MiB' >&2\n" +
            tells(0.1, RunEnded{3, 0, 0}) + "exit 3");
    ready.run_to_end();
    CHECK(ready.page.run().state() == State::failed);
    CHECK_THAT(ready.report(), Catch::Contains("does not fit") &&
                                   Catch::Contains("the smallest limit that works is 20.1 MiB"));
    CHECK_FALSE(ready.find<QPlainTextEdit>("messages")->isVisible());  // it is in the report
    CHECK(said.isEmpty());
  }
  SECTION("it is cancelled") {
    fake.add("headroom-decode", tells(0, WeightsLoaded{0.5}) + "exec sleep 30");
    ready.click("start");
    wait_until([&] { return ready.find<QLabel>("status")->text().contains("50 %"); });
    ready.click("cancel");
    wait_until([&] { return !ready.page.busy(); });
    CHECK(ready.report() == "Cancelled.");
  }
  CHECK(ready.find<QPushButton>("start")->isEnabled());
  test::handle_events();
  wait_until([&] { return !ready.workspace.busy(); });
  CHECK(opened.isEmpty());
  CHECK(failed.isEmpty());
  // And it can be run again.
  fake.add("headroom-decode", "exit 0");
  ready.run_to_end();
  CHECK(ready.page.run().state() == State::done);
}

TEST_CASE("run page: measuring runs headroom-profile and opens the profile") {
  const FakePrograms fake;
  Ready ready;
  ready.find<QRadioButton>("measure")->setChecked(true);
  ready.find<QLineEdit>("sizes")->setText("64x64");
  ready.find<QLineEdit>("output")->setText(ready.file("profile.json"));
  fake.add("headroom-profile",
           std::string(kReadOptions) + "echo \"$all\" > '" + std::string(fake.scratch / "arguments") + "'\n" +
               tells(0, WorkDone{0.5, "64x64 decoder.conv_in"}) + "echo '{}' > \"$output\"");
  QSignalSpy failed(&ready.workspace, &Workspace::failed);
  ready.run_to_end();
  CHECK(ready.page.run().state() == State::done);
  CHECK_THAT(headroom::test::read_bytes(fake.scratch / "arguments"), Catch::Contains("--sizes 64x64"));
  wait_until([&] { return !failed.isEmpty(); });  // this one is no profile
  CHECK_THAT(failed[0][0].toString().toStdString(), Catch::Contains("profile.json"));
}

TEST_CASE("run page: the plan that is chosen in the workspace is run") {
  const FakePrograms fake;
  Ready ready;
  const std::string plan_file = ready.scratch / "plan.json";
  REQUIRE(call(planner::run_plan, {"--model", kModel, "--size", "96x64", "--limit", "64MiB", "-o", plan_file})
              .code == 0);
  ready.find<QRadioButton>("by-plan")->setChecked(true);
  ready.click("start");
  CHECK_THAT(ready.note("plan").toStdString(), Catch::Contains("No such plan is open"));
  QSignalSpy opened(&ready.workspace, &Workspace::opened);
  ready.workspace.open({QString::fromStdString(plan_file)});
  wait_until([&] { return opened.size() == 1; });
  CHECK(ready.page.form()->request().plan == QString::fromStdString(plan_file));
  CHECK_THAT(ready.find<QComboBox>("plan")->currentText().toStdString(), Catch::Contains("96×64"));
  CHECK(ready.page.form()->request().model == kModel);
}

/// Decodes with the programs of the build, where it has them.
TEST_CASE("run page: a real decode, cancelled and done") {
  if (!std::filesystem::exists((test::built_programs() + "/headroom-decode").toStdString())) {
    WARN("no headroom-decode in " << test::built_programs().toStdString() << ": not tried");
    return;
  }
  qputenv("HEADROOM_BIN", test::built_programs().toUtf8());
  Ready ready;
  QSignalSpy opened(&ready.workspace, &Workspace::opened), failed(&ready.workspace, &Workspace::failed);
  SECTION("cancelled") {
    ready.find<QLineEdit>("latent")->setText(ready.write_latent(256, 256));
    ready.find<QLineEdit>("limit")->setText("1GiB");
    ready.click("start");
    wait_until([&] { return ready.page.run().progress().pass >= 0; });
    ready.click("cancel");
    wait_until([&] { return !ready.page.busy(); });
    CHECK(ready.page.run().state() == State::cancelled);
    CHECK_FALSE(std::filesystem::exists(ready.scratch / "out.png"));
  }
  SECTION("done") {
    ready.run_to_end();
    INFO(ready.report());
    REQUIRE(ready.page.run().state() == State::done);
    CHECK(std::filesystem::exists(ready.scratch / "out.png"));
    CHECK(ready.page.run().damagedLines() == 0);
    CHECK(ready.page.run().progress().share == 1);
    CHECK_FALSE(ready.page.run().progress().memory.empty());
    const QImage preview = ready.page.findChild<PictureView*>()->image();
    CHECK(preview == QImage(ready.file("out.png")).convertToFormat(preview.format()));
    wait_until([&] { return opened.size() + failed.size() == 2; });
    CHECK(failed.isEmpty());
    CHECK(ready.workspace.chosen<RunStats>() != nullptr);
    CHECK(ready.workspace.chosen<RecordedTrace>() != nullptr);
  }
  SECTION("encoded by the plan of the question") {
    const std::string plan = ready.scratch / "plan.json";
    REQUIRE(call(planner::run_plan, {"--model", kModel, "--direction", "encode", "--size", "96x64", "--limit",
                                     "64MiB", "-o", plan})
                .code == 0);
    ready.workspace.open({QString::fromStdString(plan)});
    wait_until([&] { return opened.size() == 1; });
    CHECK(ready.find<QRadioButton>("encode")->isChecked());  // follows the question
    CHECK(ready.find<QComboBox>("plan")->count() == 1);
    ready.find<QRadioButton>("by-plan")->setChecked(true);
    QImage(96, 64, QImage::Format_RGB32).save(ready.file("in.png"));
    ready.find<QLineEdit>("picture")->setText(ready.file("in.png"));
    ready.find<QLineEdit>("output")->setText(ready.file("latent.npy"));
    ready.run_to_end();
    INFO(ready.report());
    REQUIRE(ready.page.run().state() == State::done);
    CHECK(std::filesystem::exists(ready.scratch / "latent.npy"));
    wait_until([&] { return opened.size() + failed.size() == 2; });
    CHECK(ready.workspace.chosen<RunStats>() != nullptr);
    ready.find<QRadioButton>("decode")->setChecked(true);
    CHECK(ready.find<QComboBox>("plan")->count() == 0);  // the open plan is not one of a decode
  }
}

}  // namespace
}  // namespace headroom::gui
