#include "gui/model/workspace.h"

#include <QSignalSpy>
#include <catch2/catch.hpp>

#include "tests/gui/sample_files.h"

namespace headroom::gui {
namespace {

using test::open;
using test::sample_files;
using test::wait_until;

TEST_CASE("workspace: a file of each kind is read and chosen, in the order of the command line") {
  Workspace workspace;
  QSignalSpy opened(&workspace, &Workspace::opened), busy(&workspace, &Workspace::busyChanged);
  open(workspace, sample_files().all());
  CHECK(opened.count() == 5);
  CHECK(busy.count() == 2);
  REQUIRE(workspace.documents().size() == 5);
  CHECK(workspace.chosen<reports::PlanDocument>() == workspace.documents()[0]);
  CHECK(workspace.chosen<RunStats>() == workspace.documents()[1]);
  CHECK(workspace.chosen<RecordedTrace>() == workspace.documents()[2]);
  CHECK(workspace.chosen<profiler::Profile>() == workspace.documents()[3]);
  CHECK(workspace.chosen<reports::FrontierDocument>() == workspace.documents()[4]);
}

TEST_CASE("workspace: broken and foreign files are named with their fault and leave what was open") {
  Workspace workspace;
  open(workspace, {sample_files().file("plan.json")});
  const reports::DocumentPtr plan = workspace.chosen<reports::PlanDocument>();
  const test::Scratch folder;
  for (const test::BadFile& bad : test::bad_files()) {
    CAPTURE(bad.name);
    QSignalSpy failed(&workspace, &Workspace::failed);
    open(workspace, {QString::fromStdString(folder.write(bad.name, bad.content).string())});
    REQUIRE(failed.count() == 1);
    const std::string message = failed[0][0].toString().toStdString();
    CAPTURE(message);
    CHECK(message.find(bad.name) != std::string::npos);
    CHECK(message.find(bad.said) != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
    CHECK(workspace.documents() == std::vector<reports::DocumentPtr>{plan});
    CHECK(workspace.chosen<reports::PlanDocument>() == plan);
  }
  QSignalSpy failed(&workspace, &Workspace::failed);
  open(workspace, {QString::fromStdString((folder / "not_there.json").string()),
                   QString::fromStdString(folder.folder().string())});
  REQUIRE(failed.count() == 2);
  CHECK(failed[0][0].toString().contains("not_there.json"));
  CHECK(failed[1][0].toString().contains(QString::fromStdString(folder.folder().string())));
}

TEST_CASE("workspace: a bad file among good ones stops none of them") {
  Workspace workspace;
  const test::Scratch folder;
  QSignalSpy failed(&workspace, &Workspace::failed);
  open(workspace,
       {sample_files().file("stats.json"), QString::fromStdString(folder.write("no.json", "no").string()),
        sample_files().file("trace.json")});
  CHECK(failed.count() == 1);
  CHECK(workspace.documents().size() == 2);
}

TEST_CASE("workspace: the same file again takes its own place, and no other file's choice changes") {
  Workspace workspace;
  open(workspace, {sample_files().file("plan.json"), sample_files().file("profile.json")});
  const reports::DocumentPtr before = workspace.documents()[0], profile = workspace.documents()[1];
  open(workspace, {sample_files().file("plan.json")});
  REQUIRE(workspace.documents().size() == 2);
  CHECK(workspace.documents()[0] != before);
  CHECK(workspace.chosen<reports::PlanDocument>() == workspace.documents()[0]);
  CHECK(workspace.chosen<profiler::Profile>() == profile);
}

TEST_CASE("workspace: of several files of a kind one is chosen, and closing it goes back to another") {
  Workspace workspace;
  const test::Scratch folder;
  const std::string second = test::read_bytes(sample_files().folder() / "stats.json");
  open(workspace, {sample_files().file("stats.json"),
                   QString::fromStdString(folder.write("second.json", second).string())});
  const reports::DocumentPtr a = workspace.documents()[0], b = workspace.documents()[1];
  CHECK(workspace.chosen<RunStats>() == b);
  QSignalSpy changed(&workspace, &Workspace::documentsChanged);
  workspace.choose(a);
  CHECK(workspace.chosen<RunStats>() == a);
  workspace.close(a);
  CHECK(workspace.chosen<RunStats>() == b);
  workspace.close(a);  // is closed already
  workspace.choose(a);
  CHECK(workspace.chosen<RunStats>() == b);
  workspace.close(workspace.documents()[0]);
  CHECK(workspace.chosen<RunStats>() == nullptr);
  CHECK(changed.count() == 3);
}

TEST_CASE("workspace: a plan sets the question, its profile goes with it where it is that plan's") {
  Workspace workspace;
  QSignalSpy asked(&workspace, &Workspace::questionChanged);
  open(workspace, {sample_files().file("profile.json"), sample_files().file("plan.json")});
  REQUIRE(asked.count() == 1);
  const Plan& plan = sample_files().plan().plan;
  CHECK(workspace.question().request == plan.request);
  CHECK(workspace.question().request.model == plan.request.model);
  CHECK(workspace.question().options.limit_bytes == plan.limit_bytes);
  CHECK(workspace.question().profile == nullptr);  // the plan's costs are assumed

  // A plan that says that it was made with such a profile finds it, whichever comes first.
  const test::Scratch folder;
  Plan measured = plan;
  measured.assumed = false;
  measured.environment = {"two cores", "LibTorch"};
  write_plan(folder / "measured.json", measured, sample_files().plan().model.graph);
  const QString file = QString::fromStdString((folder / "measured.json").string());
  open(workspace, {file});
  CHECK(workspace.question().profile == workspace.chosen<profiler::Profile>());
  CHECK(workspace.question().profile != nullptr);
  Workspace other;
  open(other, {file, sample_files().file("profile.json")});
  CHECK(other.question().profile != nullptr);
  other.close(other.chosen<profiler::Profile>());
  CHECK(other.question().profile == nullptr);
}

TEST_CASE("workspace: goes while files are being read") {
  auto workspace = std::make_unique<Workspace>();
  workspace->open(sample_files().all());
  workspace.reset();
  QCoreApplication::processEvents();
  SUCCEED();
}

TEST_CASE("workspace: a question for another device drops the profile") {
  Workspace workspace;
  test::open(workspace, {sample_files().file("profile.json")});
  PlanningQuestion question;
  question.profile = workspace.chosen<profiler::Profile>();
  REQUIRE(question.profile != nullptr);
  workspace.ask(question);
  CHECK(workspace.question().profile == question.profile);
  question.request.device = DeviceKind::cuda;
  workspace.ask(question);
  CHECK(workspace.question().profile == nullptr);
}

}  // namespace
}  // namespace headroom::gui
