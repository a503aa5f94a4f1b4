#include "gui/view/frontier_page.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QSlider>
#include <QSpinBox>
#include <QTest>
#include <catch2/catch.hpp>

#include "decoder/base/amounts.h"
#include "decoder/validator/validator.h"
#include "gui/view/chart_view.h"
#include "gui/view/input_fields.h"
#include "gui/view/lower_peak_box.h"
#include "gui/view/request_form.h"
#include "gui/view/table_view.h"
#include "planner/program/run.h"
#include "tests/gui/support/shown.h"
#include "tests/support/program.h"

namespace headroom::gui {
namespace {

using test::sample_files;
using test::wait_until;

constexpr int64_t kFitsEachDevice = int64_t{64} << 20;

/// The page over a workspace with a question about the demo's model, at rest.
struct ShownFrontier : test::ShownPage<FrontierPage> {
  explicit ShownFrontier(int64_t limit_bytes = 0, planner::PlanOptions options = {}) {
    PlanningQuestion question;
    question.request = sample_files().plan().plan.request;
    question.request.model = HEADROOM_TEST_DATA "/demo_model";
    question.options = options;
    question.options.limit_bytes = limit_bytes;
    workspace.ask(question);
    rest();
  }
  int64_t limit() const { return workspace.question().options.limit_bytes; }
  const Plan& plan() const {
    REQUIRE(page.answer().plan != nullptr);
    return page.answer().plan->as<reports::PlanDocument>()->plan;
  }
};

TEST_CASE("bytes as text are read as the same bytes") {
  for (const int64_t bytes :
       {int64_t{1}, int64_t{1025}, int64_t{1024}, int64_t{1229} << 20, int64_t{1} << 30,
        (int64_t{1} << 30) + 1, int64_t{1288490189}, int64_t{5} << 40, int64_t{1} << 62}) {
    CAPTURE(bytes);
    CHECK(parse_bytes(bytes_text(bytes).toStdString(), "bytes") == bytes);
  }
  CHECK(bytes_text(int64_t{1288490189}) == "1.2GiB");
  CHECK(bytes_text(int64_t{1229} << 20) == "1229MiB");
}

TEST_CASE("frontier page: without a limit it takes one that costs little time") {
  ShownFrontier shown;
  REQUIRE(shown.limit() > 0);
  CHECK(shown.plan().limit_bytes == shown.limit());
  const TableView& table = shown.child<TableView>("frontier-points");
  REQUIRE(table.table().rows.size() > 2);
  const double fastest = std::get<double>(table.table().rows.front().cells[1]);
  CHECK(shown.plan().predicted_seconds <= 1.1 * fastest);
  CHECK(shown.page.exports().size() == 4);
  // The frontier of a file stands beside it.
  auto& chart = shown.child<ChartView>("frontier-chart");
  const size_t own = chart.chart().series.size();
  shown.workspace.open({sample_files().file("frontier.json")});
  shown.rest();
  REQUIRE(chart.chart().series.size() == own + 1);
  CHECK(chart.chart().series.back().name == "frontier.json");
  // Only while the question is of the same picture.
  PlanningQuestion question = shown.workspace.question();
  question.request.width_pixels *= 2;
  shown.workspace.ask(question);
  shown.rest();
  CHECK(chart.chart().series.size() == own);
}

TEST_CASE("frontier page: says that a decode which nobody chose is an example") {
  test::ShownPage<FrontierPage> shown;
  wait_until([&] { return shown.workspace.question().request.width_pixels > 0; });
  CHECK(shown.child<QLabel>("example").isVisible());
  PlanningQuestion question;
  question.request = sample_files().plan().plan.request;
  shown.workspace.ask(question);
  shown.rest();
  CHECK_FALSE(shown.child<QLabel>("example").isVisible());
}

TEST_CASE("frontier page: the untiled peak is a line in the chart, and the plan's share stands beside it") {
  ShownFrontier shown;
  const auto bytes =
      double(planner::untiled_peak(sample_files().plan().model, shown.workspace.question().request,
                                   planner::CostModel(sample_files().plan().model.graph))
                 .bytes);
  const reports::Chart chart = shown.child<ChartView>("frontier-chart").chart();
  REQUIRE(chart.guides.size() == 1);
  CHECK(chart.guides[0].at == bytes);
  CHECK(chart.guides[0].vertical);
  const std::string text = reports::format(reports::Unit::bytes, bytes);
  CHECK(chart.guides[0].label == "untiled " + text);
  CHECK(chart.series[0].x.back() >= bytes);
  const double share = double(shown.plan().predicted_peak_bytes) / bytes;
  CHECK(shown.child<QLabel>("untiled").text().toStdString() ==
        text + " by diffusers, this plan takes " + reports::format(reports::Unit::share, share));
}

TEST_CASE("frontier page: plans are for the chosen device, with the fields that it has") {
  planner::PlanOptions options;
  options.scratch_folder = "/tmp";
  options.scratch_limit_bytes = int64_t{1} << 30;
  ShownFrontier shown(kFitsEachDevice, options);
  const auto visible = [&](const char* name) { return shown.child<QWidget>(name).isVisible(); };
  auto& device = shown.child<QComboBox>("device");
  auto& costs = shown.child<QComboBox>("profile");
  CHECK(device.currentText() == "CPU");
  CHECK(visible("scratch"));
  CHECK(visible("scratch-limit"));
  CHECK_FALSE(visible("host-limit"));
  CHECK(shown.plan().request.device == DeviceKind::cpu);
  shown.open({sample_files().file("profile.json")});
  CHECK(costs.count() == 2);
  CHECK_THAT(shown.child<QLabel>("time").text().toStdString(), Catch::EndsWith("2 CPU cores"));

  device.setCurrentIndex(1);
  const auto& form = shown.child<RequestForm>();
  wait_until(
      [&] { return shown.workspace.question().request.device == DeviceKind::cuda && !shown.page.busy(); });
  CHECK(form.valid());
  CHECK_FALSE(visible("scratch"));
  CHECK_FALSE(visible("scratch-limit"));
  CHECK(visible("host-limit"));
  CHECK(costs.count() == 1);  // the profile is of a CPU
  CHECK(shown.workspace.question().options.scratch_folder.empty());
  CHECK(shown.plan().request.device == DeviceKind::cuda);
  CHECK(validate(shown.plan(), sample_files().plan().model).empty());
  CHECK_THAT(shown.child<QLabel>("time").text().toStdString(), Catch::EndsWith("H100 GPU"));
}

TEST_CASE("frontier page: TF32 can be chosen in fp32 on a GPU, and the plan has it") {
  ShownFrontier shown(kFitsEachDevice);
  auto& tf32 = shown.child<QComboBox>("tf32");
  auto& dtype = shown.child<QComboBox>("dtype");
  const auto settle = [&](Tf32 expected) {
    wait_until([&] { return shown.workspace.question().request.tf32 == expected && !shown.page.busy(); });
    CHECK(shown.child<RequestForm>().valid());
    CHECK(shown.plan().request.tf32 == expected);
    CHECK(validate(shown.plan(), sample_files().plan().model).empty());
  };
  REQUIRE(shown.plan().request.dtype == Dtype::fp32);
  CHECK_FALSE(tf32.isEnabled());
  shown.child<QComboBox>("device").setCurrentIndex(1);
  wait_until([&] { return tf32.isEnabled() && !shown.page.busy(); });
  settle({});
  tf32.setCurrentIndex(1);
  settle({.convolutions = true});
  tf32.setCurrentIndex(3);
  settle({.convolutions = true, .products = true});
  dtype.setCurrentText("bf16");
  settle({});
  CHECK_FALSE(tf32.isEnabled());
  dtype.setCurrentText("fp32");  // the choice remained
  settle({.convolutions = true, .products = true});
  tf32.setCurrentIndex(2);
  settle({.products = true});
}

TEST_CASE("frontier page: thrift can be chosen, and the plan follows it") {
  ShownFrontier shown(kFitsEachDevice);
  auto& thrift = shown.child<QLineEdit>("thrift");
  CHECK(thrift.text() == "0%");
  CHECK(thrift.placeholderText() == "1%");
  const auto with = [&](const char* text, double share) {
    thrift.setText(text);
    Q_EMIT thrift.textEdited(text);
    Q_EMIT thrift.editingFinished();
    wait_until([&] { return shown.workspace.question().options.thrift == share && !shown.page.busy(); });
    CHECK(shown.child<RequestForm>().valid());
    return shown.plan();
  };
  const Plan small = with("100%", 1), fastest = with("0", 0);
  CHECK(small.predicted_peak_bytes < fastest.predicted_peak_bytes);
  CHECK(small.predicted_seconds <= 2 * fastest.predicted_seconds);
  with("", planner::kDefaultThrift);

  thrift.setText("half");
  Q_EMIT thrift.textEdited("half");
  Q_EMIT thrift.editingFinished();
  wait_until([&] { return !shown.child<RequestForm>().valid(); });
  CHECK_THAT(shown.child<QLabel>("note--thrift").text().toStdString(), Catch::Contains("expected a share"));
}

TEST_CASE("frontier page: plans are for the chosen direction") {
  ShownFrontier shown(0);
  auto& direction = shown.child<QComboBox>("direction");
  auto& costs = shown.child<QComboBox>("profile");
  shown.open({sample_files().file("profile.json")});
  CHECK(costs.count() == 2);
  direction.setCurrentIndex(1);
  const auto encodes = [&] { return shown.workspace.question().request.direction == Direction::encode; };
  wait_until([&] { return encodes() && !shown.page.busy(); });
  CHECK(shown.child<RequestForm>().valid());
  CHECK(costs.count() == 1);  // the profile is of decodes
  CHECK(shown.plan().request.direction == Direction::encode);
  CHECK(shown.plan().request.picture_dtype == Dtype::fp32);  // the latent is in memory until it is whole
  CHECK(validate(shown.plan(), for_direction(sample_files().plan().model, Direction::encode)).empty());
  direction.setCurrentIndex(0);
  wait_until([&] { return !encodes() && !shown.page.busy(); });
  CHECK(costs.count() == 2);
  CHECK(validate(shown.plan(), sample_files().plan().model).empty());
}

TEST_CASE("frontier page: the handle moves the limit, and the plan is that of the limit") {
  ShownFrontier shown(sample_files().plan().plan.limit_bytes);
  auto& chart = shown.child<ChartView>("frontier-chart");
  CHECK(chart.handle() == Approx(double(shown.limit())));
  const auto& table = shown.child<TableView>("frontier-points").table();
  REQUIRE(table.rows.size() > 2);
  for (const double share : {1.1, 1.3, 0.95}) {
    CAPTURE(share);
    const double at = double(sample_files().plan().plan.limit_bytes) * share;
    for (int i = 9; i >= 0; --i) Q_EMIT chart.handleMoved(at * (1 + i * 0.02));
    Q_EMIT chart.handleReleased(at);
    wait_until([&] { return std::abs(double(shown.limit()) / at - 1) < 0.005; });
    shown.rest();
    CHECK(shown.plan().limit_bytes == shown.limit());
    const Plan& plan = shown.plan();
    CHECK(validate(plan, sample_files().plan().model).empty());
    CHECK(chart.handle() == Approx(double(shown.limit())));
    REQUIRE(chart.chart().notes.size() == 1);
    CHECK(chart.chart().notes[0].x == double(plan.predicted_peak_bytes));
    CHECK(chart.chart().notes[0].y == plan.predicted_seconds);
    CHECK_THAT(shown.child<QLabel>("peak").text().toStdString(),
               Catch::StartsWith(format_bytes(plan.predicted_peak_bytes)));
    CHECK(std::ranges::any_of(table.rows, [&](const reports::Row& row) {
      return std::get<double>(row.cells[0]) == double(plan.predicted_peak_bytes) &&
             std::get<double>(row.cells[1]) == plan.predicted_seconds;
    }));
    const std::string text = shown.child<QLineEdit>("limit").text().toStdString();
    CHECK(parse_bytes(text, "limit") == shown.limit());
    CHECK_THAT(text, Catch::EndsWith("iB"));  // rounded, not to the byte
    CHECK_THAT(shown.child<QLabel>("peak").text().toStdString(),
               Catch::Contains(format_bytes(shown.limit())));
  }
}

TEST_CASE("frontier page: a limit is typed, and nothing is asked with half of it") {
  ShownFrontier shown(sample_files().plan().plan.limit_bytes);
  auto& field = shown.child<QLineEdit>("limit");
  QSignalSpy asked(&shown.workspace, &Workspace::questionChanged);
  field.setFocus();
  field.selectAll();
  QTest::keyClicks(&field, "6", Qt::NoModifier, 5);
  QTest::keyClicks(&field, "4M", Qt::NoModifier, 5);
  QTest::keyClicks(&field, "iB", Qt::NoModifier, 5);
  CHECK(asked.isEmpty());
  wait_until([&] { return !asked.isEmpty(); });
  shown.rest();
  CHECK(asked.size() == 1);
  CHECK(shown.limit() == 64 << 20);
  CHECK(shown.plan().limit_bytes == 64 << 20);

  field.selectAll();
  QTest::keyClicks(&field, "12 apples");
  QTest::keyClick(&field, Qt::Key_Return);
  CHECK_THAT(shown.child<QLabel>("note-limit").text().toStdString(),
             Catch::Contains("expected bytes such as 2GiB"));
  CHECK(shown.limit() == 64 << 20);
}

TEST_CASE("frontier page: the slider moves the limit by the keyboard") {
  ShownFrontier shown(sample_files().plan().plan.limit_bytes);
  auto& slider = shown.child<QSlider>("limit-slider");
  const int64_t before = shown.limit();
  slider.setFocus();
  QTest::keyClick(&slider, Qt::Key_PageUp);
  wait_until([&] { return shown.limit() > before; });
  shown.rest();
  CHECK(shown.plan().limit_bytes == shown.limit());
}

TEST_CASE("frontier page: where nothing fits, it says the smallest limit and takes it") {
  ShownFrontier shown(1 << 20);
  CHECK(shown.page.answer().plan == nullptr);
  REQUIRE(shown.page.answer().why_not);
  const int64_t smallest = shown.page.answer().why_not->smallest_limit_bytes;
  const std::string reason = shown.child<QLabel>("reason").text().toStdString();
  CHECK_THAT(reason, Catch::Contains("Does not fit 1.0 MiB") && Catch::Contains(format_bytes(smallest)));
  auto& use = shown.child<QPushButton>("use-smallest");
  CHECK(use.isVisible());
  use.click();
  shown.rest();
  CHECK(shown.limit() == smallest);
  CHECK(shown.plan().predicted_peak_bytes == smallest);
  CHECK_FALSE(use.isVisible());
}

TEST_CASE("frontier page: where nothing fits, a table lists remedies, and a button applies the chosen one") {
  ShownFrontier shown(1 << 20, {.weights = WeightResidency::resident});
  auto& remedies = shown.child<TableView>("remedies");
  REQUIRE(shown.page.answer().why_not);
  const std::vector<planner::Remedy>& found = shown.page.answer().why_not->remedies;
  REQUIRE(remedies.table().rows.size() == found.size());
  const auto residency = std::ranges::find_if(
      found, [](const planner::Remedy& one) { return one.option == "--weights-residency auto"; });
  REQUIRE(residency != found.end());
  const auto row = static_cast<int>(residency - found.begin());
  const reports::Row& shown_row = remedies.table().rows[static_cast<size_t>(row)];
  CHECK(std::get<std::string>(shown_row.cells[0]) == "Load weights pass by pass");
  CHECK(std::get<double>(shown_row.cells[1]) ==
        double(residency->smallest_limit_bytes.value_or(shown.limit())));
  CHECK(remedies.table().columns[3].title == "note");
  CHECK(std::get<std::string>(shown_row.cells[3]) == "still above your limit");
  remedies.chooseRow(row);
  auto& use = shown.child<QPushButton>("use-remedy");
  CHECK(use.isVisible());
  use.click();
  shown.rest();
  CHECK_FALSE(shown.workspace.question().options.weights);
  CHECK(shown.page.answer().why_not->smallest_limit_bytes < sample_files().plan().plan.limit_bytes);
  for (const reports::Row& other : remedies.table().rows)
    CHECK(std::get<std::string>(other.cells[0]) != "Load weights pass by pass");
}

TEST_CASE("frontier page: says which open files have times by other costs") {
  const auto [plan, model, argument] = sample_files().plan();
  Plan learnt = plan;
  learnt.learnt = {3, 2};
  const test::Scratch folder;
  write_plan(folder / "learnt.json", learnt, model.graph);
  ShownFrontier shown(plan.limit_bytes);
  const auto& costs = shown.child<QLabel>("costs");
  shown.open({sample_files().file("plan.json"), sample_files().file("frontier.json")});
  CHECK_FALSE(costs.isVisible());  // both by assumed costs, like the page
  shown.open({QString::fromStdString(folder / "learnt.json")});
  CHECK(costs.isVisible());
  CHECK_THAT(costs.text().toStdString(),
             Catch::StartsWith("Times differ by their costs. This page: costs assumed for 2 CPU cores.") &&
                 Catch::Contains("learnt.json: ") &&
                 Catch::EndsWith("by costs learnt from decodes here, 2.00× those assumed for 2 CPU cores."));
  PlanningQuestion wider = shown.workspace.question();
  wider.request.width_pixels *= 2;
  shown.workspace.ask(wider);
  shown.rest();
  CHECK_FALSE(costs.isVisible());
}

TEST_CASE("frontier page: a saved plan is one that headroom-plan accepts") {
  ShownFrontier shown(sample_files().plan().plan.limit_bytes);
  const test::Scratch scratch;
  const std::string file = scratch / "saved.json";
  shown.page.savePlan(QString::fromStdString(file));
  const test::Ended ended = test::call(planner::run_plan, {"validate", file});
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("valid"));
  CHECK(scratch.files() == std::vector<std::string>{"saved.json"});
  shown.rest();
  CHECK(shown.workspace.chosen<reports::PlanDocument>()->file == file);
  CHECK_THROWS_AS(shown.page.savePlan(QString::fromStdString(scratch / "no/folder/plan.json")),
                  std::exception);
}

TEST_CASE("frontier page: the plan that is used is the one that other pages see, one at a time") {
  planner::PlanOptions options;
  options.weights = WeightResidency::per_pass;
  ShownFrontier shown(sample_files().plan().plan.limit_bytes, options);
  shown.child<QPushButton>("use-plan").click();
  shown.rest();
  const reports::DocumentPtr first = shown.workspace.chosen<reports::PlanDocument>();
  REQUIRE(first != nullptr);
  CHECK(first->as<reports::PlanDocument>()->plan.limit_bytes == shown.limit());
  CHECK(first->as<reports::PlanDocument>()->plan.predicted_seconds == Approx(shown.plan().predicted_seconds));
  CHECK(std::filesystem::exists(first->file));
  // Its file does not know that the weights were to come pass by pass; the question does.
  CHECK(shown.workspace.question().options.weights == WeightResidency::per_pass);

  shown.child<LimitField>().setLimit(shown.limit() * 2);
  shown.rest();
  shown.child<QPushButton>("use-plan").click();
  shown.rest();
  CHECK(shown.workspace.documents().size() == 1);
  CHECK(shown.workspace.chosen<reports::PlanDocument>()->as<reports::PlanDocument>()->plan.limit_bytes ==
        shown.limit());
}

TEST_CASE("frontier page: what would lower the peak of a plan that fits stands beside it and can be used") {
  ShownFrontier shown(sample_files().plan().plan.limit_bytes);
  auto& box = shown.child<LowerPeakBox>();
  box.setPatience(60);  // however busy the machine is
  shown.child<LimitField>().setLimit(8 * shown.limit());
  shown.rest();
  const int64_t peak = shown.plan().predicted_peak_bytes;
  CHECK(box.isVisible());
  INFO(shown.child<QLabel>("lower-peak-words").text().toStdString());
  auto& use = shown.child<QPushButton>("use-lower");
  CHECK(use.isVisible());
  QSignalSpy led(&shown.page, &Page::pageAsked);
  use.click();
  shown.rest();
  REQUIRE(led.size() == 1);
  const reports::DocumentPtr used = shown.workspace.chosen<reports::PlanDocument>();
  REQUIRE(used != nullptr);
  CHECK(used->as<reports::PlanDocument>()->plan.predicted_peak_bytes < peak);
  CHECK(shown.limit() == used->as<reports::PlanDocument>()->plan.limit_bytes);
  CHECK(validate(used->as<reports::PlanDocument>()->plan, sample_files().plan().model).empty());
}

TEST_CASE("frontier page: the plan of another request is not usable while a field is wrong") {
  ShownFrontier shown(sample_files().plan().plan.limit_bytes);
  const auto& use = shown.child<QPushButton>("use-plan");
  CHECK(use.isEnabled());
  auto& model = shown.child<QComboBox>("model");
  const QString right = model.currentText();
  const auto& form = shown.child<RequestForm>();
  model.setEditText("fluxx");
  wait_until([&] { return !form.valid(); });
  CHECK_FALSE(use.isEnabled());
  CHECK_FALSE(shown.child<QPushButton>("save-plan").isEnabled());
  CHECK_FALSE(shown.child<QLineEdit>("limit").isEnabled());
  model.setEditText(right);
  wait_until([&] { return form.valid(); });
  CHECK(use.isEnabled());
}

TEST_CASE("frontier page: in a low window no text is cut") {
  ShownFrontier shown(sample_files().plan().plan.limit_bytes);
  shown.page.resize(1000, 540);
  shown.rest();
  const QList<QLabel*> texts = shown.child<LowerPeakBox>("lower-peak").findChildren<QLabel*>();
  CHECK(texts.size() > 2);
  for (const QLabel* text : texts) {
    if (!text->isVisible()) continue;
    INFO(text->text().toStdString());
    CHECK(text->height() >= text->heightForWidth(text->width()));
  }
}

TEST_CASE("request form: what cannot be asked is said at its field, and is not asked") {
  Workspace workspace;
  RequestForm form(workspace);
  form.show();
  wait_until([&] { return workspace.question().request.width_pixels > 0; });
  CHECK(form.valid());
  QSignalSpy asked(&workspace, &Workspace::questionChanged);
  const auto note = [&](const char* option) {
    return form.findChild<QLabel*>(QString("note") + option)->text().toStdString();
  };
  auto& width = *form.findChild<QSpinBox*>("width");
  width.setValue(1020);
  wait_until([&] { return !form.valid(); });
  CHECK_THAT(note("--size"), Catch::Contains("expected a width that is a multiple of 8"));
  CHECK(asked.isEmpty());
  width.setValue(1536);
  wait_until([&] { return form.valid(); });
  CHECK(note("--size").empty());
  CHECK(asked.size() == 1);
  CHECK(workspace.question().request.width_pixels == 1536);

  auto& scratch = *form.findChild<QLineEdit*>("scratch");
  QTest::keyClicks(&scratch, "/no/such/folder");
  QTest::keyClick(&scratch, Qt::Key_Return);
  wait_until([&] { return !form.valid(); });
  CHECK_THAT(note("--scratch"), Catch::Contains("expected a folder that exists"));
  scratch.clear();
  QTest::keyClicks(&scratch, "/tmp");
  wait_until([&] { return form.valid(); });
  CHECK(workspace.question().options.scratch_folder == "/tmp");
  CHECK(workspace.question().options.scratch_limit_bytes > 0);

  auto& frames = *form.findChild<QSpinBox*>("frames");
  frames.setValue(5);
  wait_until([&] { return !form.valid(); });
  CHECK_THAT(note("--frames"), Catch::Contains("expected 1, found 5"));
  CHECK(workspace.question().request.frames == 1);
}

}  // namespace
}  // namespace headroom::gui
