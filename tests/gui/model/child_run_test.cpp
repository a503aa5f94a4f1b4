#include "gui/model/child_run.h"

#include <signal.h>

#include <QSignalSpy>
#include <catch2/catch.hpp>
#include <memory>

#include "gui/model/run_request.h"
#include "tests/gui/support/fake_programs.h"

namespace headroom::gui {
namespace {

using test::FakePrograms;
using test::tells;
using test::wait_until;
using State = ChildRun::State;

/// Runs a script to its end.
void run_to_end(ChildRun& run, const QString& program) {
  run.start(program, {});
  wait_until([&] { return !run.running(); });
}

std::string words(const QString& text) {
  return text.toStdString();
}

TEST_CASE("child run: what a program tells is there, and how it ended") {
  const FakePrograms fake;
  const QString program =
      fake.add("headroom-decode",
               tells(0, WorkDone{0, "planning"}) +
                   tells(0.5, RunBegun{"headroom-decode", "sdxl", "a.png", "p.ppm", 1 << 30, 1 << 29, 20, 64,
                                       32, 1, 3, 0}) +
                   tells(1, WeightsLoaded{0.5}) + tells(2, PassStarted{0, 0, 3, "a"}) +
                   tells(2.5, MemorySample{100, 300, 20}) + tells(3, TileDone{0, 0, 0, 1, 0.25, {}}) +
                   tells(3.5, PassStarted{0, 2, 3, "c"}) +
                   tells(4, TileDone{0, 2, 0, 1, 1, PictureRegion{{0, 32}, {0, 64}}}) +
                   "echo 'a warning' >&2\n" + tells(5, RunEnded{0, 1 << 28, 4.5}) + "echo result\n");
  ChildRun run;
  CHECK(run.state() == State::idle);
  CHECK(run.report().isEmpty());
  QSignalSpy states(&run, &ChildRun::stateChanged);
  run_to_end(run, program);
  CHECK(run.state() == State::done);
  CHECK(states.size() == 2);
  const RunProgress& progress = run.progress();
  CHECK(progress.begun.limit_bytes == 1 << 30);
  CHECK(progress.begun.preview == "p.ppm");
  CHECK(progress.share == 1);
  CHECK(progress.pass == 2);
  CHECK(progress.passes == 3);
  CHECK(progress.passes_begun ==
        std::vector<std::pair<double, QString>>{{2, QStringLiteral("a")}, {3.5, QStringLiteral("c")}});
  CHECK(progress.regions == 1);
  REQUIRE(progress.memory.size() == 1);
  CHECK(progress.memory[0].seconds == 2.5);
  CHECK(progress.memory[0].sample == MemorySample{100, 300, 20});
  REQUIRE(progress.ended);
  CHECK(progress.ended->peak_bytes == 1 << 28);
  CHECK(run.messages() == QStringList{"a warning"});
  CHECK(run.output() == "result\n");
  CHECK(run.damagedLines() == 0);
  CHECK_THAT(words(run.report()),
             Catch::Contains("4.50 s") && Catch::Contains("256.0 MiB") && Catch::Contains("1024.0 MiB"));
}

TEST_CASE("child run: a failure is reported in the program's own words") {
  const FakePrograms fake;
  const std::vector<std::pair<int, std::string>> meanings{
      {2, "refused"}, {3, "does not fit"}, {4, "stopped at the limit"}, {5, "device"}, {9, "failed"}};
  ChildRun run;
  for (const auto& [code, meaning] : meanings) {
    CAPTURE(code);
    run_to_end(run, fake.add("headroom-decode",
                             "echo 'something before' >&2\n"
                             "echo 'headroom-decode: 100 %1 of it: pass 3' >&2\n" +
                                 tells(1, RunEnded{code, 0, 0}) + "exit " + std::to_string(code)));
    CHECK(run.state() == State::failed);
    CHECK_THAT(words(run.report()), Catch::Contains(meaning) && Catch::EndsWith(": 100 %1 of it: pass 3"));
    CHECK(run.progress().share == 0);
  }
  run_to_end(run, fake.add("headroom-decode",
                           "echo 'headroom-decode: it does not fit; with --dtype bf16 it takes 2 s' >&2\n"
                           "exit 3"));
  CHECK_THAT(words(run.report()),
             Catch::Contains("--dtype bf16") && Catch::Contains("The page Frontier has a button"));
  run_to_end(run, fake.add("headroom-decode", "exit 3"));
  CHECK_THAT(words(run.report()), Catch::Contains("does not fit (exit code 3)."));
}

TEST_CASE("child run: killed by the system, and crashed") {
  const FakePrograms fake;
  ChildRun run;
  run_to_end(run, fake.add("headroom-decode", tells(1, TileDone{0, 0, 0, 2, 0.5, {}}) + "kill -9 $$"));
  CHECK(run.state() == State::killed);
  CHECK_THAT(words(run.report()), Catch::Contains("The system ended it") && Catch::Contains("memory"));
  CHECK(run.progress().share == 0.5);
  run_to_end(run, fake.add("headroom-decode", "ulimit -c 0; kill -SEGV $$"));
  CHECK(run.state() == State::killed);
  CHECK_THAT(words(run.report()), Catch::Contains("crashed (signal 11)"));
}

TEST_CASE("child run: a program that cannot be started") {
  ChildRun run;
  run_to_end(run, QStringLiteral("/nonexistent/headroom-decode"));
  CHECK(run.state() == State::failed);
  CHECK_THAT(words(run.report()), Catch::Contains("headroom-decode cannot be started"));
}

TEST_CASE("child run: cancelled, and ended where it does not listen") {
  const FakePrograms fake;
  ChildRun run;
  QElapsedTimer since;
  SECTION("it ends when asked") {
    run.start(fake.add("headroom-decode", tells(0, WeightsLoaded{0}) + "exec sleep 30"), {});
    wait_until([&] { return !run.progress().doing.isEmpty(); });
    since.start();
    run.cancel();
    CHECK(run.state() == State::cancelling);
    wait_until([&] { return !run.running(); });
    CHECK(since.elapsed() < 2500);
  }
  SECTION("it does not") {
    run.start(fake.add("headroom-decode",
                       "trap '' TERM\n" + tells(0, WeightsLoaded{0}) + "while :; do sleep 0.05; done"),
              {});
    wait_until([&] { return !run.progress().doing.isEmpty(); });
    since.start();
    run.cancel();
    wait_until([&] { return !run.running(); });
    CHECK(since.elapsed() >= 2500);
    CHECK(since.elapsed() < 10'000);
  }
  CHECK(run.state() == State::cancelled);
  CHECK(run.report() == "Cancelled.");
  run.cancel();  // nothing to cancel
  CHECK(run.state() == State::cancelled);
}

TEST_CASE("child run: a stream that comes in odd pieces, damaged in places") {
  const FakePrograms fake;
  const auto line = [](const ProgressNews& news) { return progress_line({1, news}); };
  std::string stream = line(PassStarted{0, 0, 2, "first"});
  stream += "headroom-progress {\"event\":\"tile\",\"seconds\":2,\"sha\n";         // cut
  stream += "headroom-progress {\"event\":\"memory\",\"live_bytes\":\"many\"}\n";  // no number
  stream += "headroom-progress {\"event\":\"later\",\"seconds\":2}\n";             // of a later release
  stream += "a message with 'quotes' and \\ in it\n";
  stream += line(TileDone{0, 0, 0, 4, 0.125, PictureRegion{{0, 8}, {0, 8}}});
  stream += line(PassStarted{0, 1, 2, "second"}) + "the last words";
  std::string script;
  const std::vector<size_t> pieces{1, 17, 18, 40, 3, 64, 100, 5};
  for (size_t begin = 0, i = 0; begin < stream.size(); begin += pieces[i % pieces.size()], ++i) {
    const std::string name = "piece-" + std::to_string(i);
    const std::string file = fake.scratch.write(name, stream.substr(begin, pieces[i % pieces.size()]));
    script += "cat '" + file + "' >&2; sleep 0.01\n";
  }
  ChildRun run;
  run_to_end(run, fake.add("headroom-decode", script + "exit 5"));
  CHECK(run.damagedLines() == 2);
  CHECK(run.progress().share == 0.125);
  CHECK(run.progress().regions == 1);
  CHECK(run.progress().doing == "second");
  CHECK(run.messages() == QStringList{"a message with 'quotes' and \\ in it", "the last words"});
  CHECK_THAT(words(run.report()), Catch::EndsWith("the last words"));
}

TEST_CASE("child run: a second run begins afresh, and no two run at one time") {
  const FakePrograms fake;
  ChildRun run;
  run_to_end(run,
             fake.add("headroom-decode", "echo words >&2; " + tells(1, MemorySample{1, 1, 1}) + "exit 4"));
  CHECK(run.progress().memory.size() == 1);
  run.start(fake.add("headroom-profile", tells(1, WeightsLoaded{1}) + "sleep 0.3"), {});
  CHECK(run.messages().isEmpty());
  CHECK(run.progress().memory.empty());
  wait_until([&] { return !run.progress().doing.isEmpty(); });
  run.start(fake.add("headroom-decode", "exit 1"), {});
  CHECK_FALSE(run.progress().doing.isEmpty());
  CHECK_THAT(words(run.report()), Catch::StartsWith("headroom-profile"));
  wait_until([&] { return !run.running(); });
  CHECK(run.state() == State::done);
  CHECK(run.report() == "Done.");
}

TEST_CASE("child run: no program outlives it, and it is asked before it is ended") {
  const FakePrograms fake;
  const std::string pid_file = fake.scratch / "pid", asked_file = fake.scratch / "asked";
  auto run = std::make_unique<ChildRun>();
  run->start(fake.add("headroom-decode", "echo $$ > '" + pid_file + "'\ntrap 'touch \"" + asked_file +
                                             "\"; exit 0' TERM\n" + tells(0, WeightsLoaded{0}) +
                                             "while :; do sleep 0.02; done"),
             {});
  wait_until([&] { return !run->progress().doing.isEmpty(); });
  const pid_t process = std::stoi(headroom::test::read_bytes(pid_file));
  CHECK(kill(process, 0) == 0);
  run.reset();
  CHECK(kill(process, 0) != 0);
  CHECK(std::filesystem::exists(asked_file));
}

TEST_CASE("child run: samples of a long run are thinned out, and the peak stays") {
  const FakePrograms fake;
  ChildRun run;
  run_to_end(run, fake.add("headroom-decode", R"(i=0
while [ $i -lt 40000 ]; do
  peak=5; [ $i -eq 12345 ] && peak=999
  echo "headroom-progress {\"event\":\"memory\",\"seconds\":$i,\"live_bytes\":1,\"peak_bytes\":$peak,\"outside_bytes\":0}" >&2
  i=$((i + 1))
done)"));
  const std::vector<RunMemory>& memory = run.progress().memory;
  CHECK(memory.size() < 16'384);
  CHECK(memory.size() > 5000);
  CHECK(memory.back().seconds == 39'999);
  int64_t peak = 0;
  double seconds = -1;
  bool in_order = true;
  for (const RunMemory& sample : memory) {
    in_order = in_order && sample.seconds > seconds;
    seconds = sample.seconds;
    peak = std::max(peak, sample.sample.peak_bytes);
  }
  CHECK(in_order);
  CHECK(peak == 999);
}

TEST_CASE("child run: the time left is by prediction at first and by the speed so far then") {
  const FakePrograms fake;
  RunBegun begun{"headroom-decode"};
  begun.predicted_seconds = 100;
  const std::string first = fake.scratch / "go";
  ChildRun run;
  CHECK_FALSE(run.secondsLeft());
  run.start(fake.add("headroom-decode", tells(0, begun) + tells(11, PassStarted{0, 0, 1, "a"}) +
                                            "while [ ! -e '" + first + "' ]; do sleep 0.02; done\n" +
                                            tells(21, TileDone{0, 0, 0, 4, 0.25, {}}) + "exec sleep 30"),
            {});
  wait_until([&] { return run.progress().pass == 0; });
  REQUIRE(run.secondsLeft());
  CHECK(*run.secondsLeft() == Approx(100).margin(10));
  fake.scratch.write("go", "");
  wait_until([&] { return run.progress().share > 0; });
  CHECK(*run.secondsLeft() == Approx(30).margin(5));  // 10 s for a quarter
  run.cancel();
  wait_until([&] { return !run.running(); });
  CHECK_FALSE(run.secondsLeft());
}

TEST_CASE("child run: memory of a second decode is not held against the limit") {
  const FakePrograms fake;
  ChildRun run;
  run_to_end(run,
             fake.add("headroom-decode",
                      tells(1, MemorySample{1, 2, 3}) + tells(2, VerificationStarted{"the untiled decode"}) +
                          tells(3, PassStarted{0, 0, 1, "a"}) + tells(4, MemorySample{9, 9, 9})));
  CHECK(run.progress().verifying);
  CHECK(run.progress().memory.size() == 1);
  CHECK(run.progress().passes_begun.empty());
}

std::vector<RunField> fields_of(const RunRequest& request) {
  std::vector<RunField> fields;
  for (const RunProblem& problem : RunCheck::problems(request)) {
    CHECK_FALSE(problem.text.isEmpty());
    fields.push_back(problem.field);
  }
  return fields;
}

TEST_CASE("run request: what stands in the way is said field by field") {
  const headroom::test::Scratch scratch;
  const auto file = [&](const std::string& name) {
    return QString::fromStdString(scratch.write(name, "x").string());
  };
  using Fields = std::vector<RunField>;
  RunRequest nothing;
  CHECK(fields_of(nothing) == Fields{RunField::model, RunField::latent, RunField::plan, RunField::output});
  RunRequest good;
  good.model = "sdxl";
  good.random_weights = true;
  good.latent = file("l.npy");
  good.plan = file("plan.json");
  good.output = QString::fromStdString((scratch / "o.png").string());
  CHECK(fields_of(good).empty());

  const auto with = [&](const auto& change) {
    RunRequest changed = good;
    change(changed);
    return fields_of(changed);
  };
  CHECK(with([](RunRequest& r) { r.model = "sdxxl"; }) == Fields{RunField::model});
  CHECK(with([](RunRequest& r) { r.random_weights = false; }) == Fields{RunField::weights});
  CHECK(with([](RunRequest& r) { r.random_weights = false, r.model = "SDXL"; }) == Fields{RunField::weights});
  CHECK(with([](RunRequest& r) { r.random_weights = false, r.weights = "/nowhere"; }) ==
        Fields{RunField::weights});
  CHECK(with([](RunRequest& r) { r.seed = "-1"; }) == Fields{RunField::seed});
  CHECK(with([](RunRequest& r) { r.seed = "many"; }) == Fields{RunField::seed});
  CHECK(with([](RunRequest& r) { r.latent += ".npy"; }) == Fields{RunField::latent});
  CHECK(with([](RunRequest& r) { r.latent = "picture.png"; }) == Fields{RunField::latent});
  CHECK(with([&](RunRequest& r) { r.latent = file("l.safetensors") + ":key"; }).empty());
  CHECK(with([](RunRequest& r) { r.plan.clear(); }) == Fields{RunField::plan});
  CHECK(with([](RunRequest& r) { r.plan += "x"; }) == Fields{RunField::plan});
  CHECK(with([](RunRequest& r) { r.by_plan = false; }) == Fields{RunField::limit});
  CHECK(with([](RunRequest& r) { r.by_plan = false, r.limit = "lots"; }) == Fields{RunField::limit});
  CHECK(with([](RunRequest& r) { r.by_plan = false, r.limit = "1.2GiB", r.plan.clear(); }).empty());
  CHECK(with([](RunRequest& r) { r.by_plan = false, r.limit = "auto"; }).empty());
  CHECK(with([](RunRequest& r) { r.output = "o.gif"; }) == Fields{RunField::output});
  for (const char* suffix : {"png", "jpg", "jpeg", "webp", "y4m", "npy", "safetensors", "PNG"})
    CHECK(with([&](RunRequest& r) { r.output = file("out.") + suffix; }).empty());
  CHECK(with([](RunRequest& r) { r.output = "/nowhere/o.png"; }) == Fields{RunField::output});

  const auto measuring = [&](const auto& change) {
    return with([&](RunRequest& r) {
      r.kind = RunRequest::Kind::measure;
      r.output = "profile.json";
      r.latent.clear();
      r.plan.clear();
      r.sizes = "256x256,512x512";
      change(r);
    });
  };
  CHECK(measuring([](RunRequest&) {}).empty());
  CHECK(measuring([](RunRequest& r) { r.random_weights = false; }).empty());
  CHECK(measuring([](RunRequest& r) { r.sizes = "256"; }) == Fields{RunField::sizes});
  CHECK(measuring([](RunRequest& r) { r.sizes = "257x256"; }) == Fields{RunField::sizes});
  CHECK(measuring([](RunRequest& r) { r.output = "o.png"; }) == Fields{RunField::output});

  const auto encoding = [&](const auto& change) {
    return with([&](RunRequest& r) {
      r.kind = RunRequest::Kind::encode;
      r.latent.clear();
      r.picture = file("l.safetensors") + ":key";
      r.output = file("out.latent");
      change(r);
    });
  };
  CHECK(encoding([](RunRequest&) {}).empty());
  CHECK(encoding([](RunRequest& r) { r.picture = "nowhere.png"; }) == Fields{RunField::picture});
  CHECK(encoding([](RunRequest& r) { r.model = "hunyuan-image-3"; }) == Fields{RunField::model});
  CHECK(encoding([](RunRequest& r) { r.plan.clear(); }) == Fields{RunField::plan});
  CHECK(encoding([&](RunRequest& r) { r.output = file("out.png"); }) == Fields{RunField::output});
}

TEST_CASE("run request: words and files of the run") {
  RunRequest request;
  request.model = "m";
  request.weights = "w";
  request.latent = "l.npy";
  request.plan = "p.json";
  request.limit = "1GiB";
  request.output = "/f/picture.png";
  const RunFiles files = files_of(request, "/tmp/x");
  CHECK(files.stats == "/f/picture.stats.json");
  CHECK(files.trace == "/f/picture.trace.json");
  CHECK(files.preview == "/tmp/x/preview.ppm");
  CHECK(program_of(request) == "headroom-decode");
  CHECK(arguments_of(request, files).join(' ') ==
        "--progress lines --model m --weights w --plan p.json --latent l.npy --stats /f/picture.stats.json "
        "--trace /f/picture.trace.json --preview /tmp/x/preview.ppm --output /f/picture.png");
  CHECK(results_of(request, files) == QStringList{files.stats, files.trace});
  request.by_plan = request.record_trace = false;
  request.random_weights = true;
  CHECK(arguments_of(request, files_of(request, "/tmp/x")).join(' ') ==
        "--progress lines --model m --random-weights 0 --limit 1GiB --latent l.npy --stats "
        "/f/picture.stats.json "
        "--preview /tmp/x/preview.ppm --output /f/picture.png");
  request.model = "qwen-image-2.1";  // whose pictures have alpha, which a preview has not
  CHECK(files_of(request, "/tmp/x").preview.isEmpty());
  request.model = "m";
  request.kind = RunRequest::Kind::encode;
  request.picture = "p.png";
  request.output = "/f/latent.npy";
  CHECK(program_of(request) == "headroom-decode");
  CHECK(arguments_of(request, files_of(request, "/tmp/x")).join(' ') ==
        "encode --progress lines --model m --random-weights 0 --limit 1GiB --picture p.png --stats "
        "/f/latent.stats.json --output /f/latent.npy");
  CHECK(results_of(request, files_of(request, "/tmp/x")) == QStringList{"/f/latent.stats.json"});
  request.kind = RunRequest::Kind::measure;
  request.sizes = "8x8";
  request.output = "/f/profile.json";
  CHECK(program_of(request) == "headroom-profile");
  CHECK(arguments_of(request, files_of(request, "/tmp/x")).join(' ') ==
        "--progress lines --model m --random-weights 0 --sizes 8x8 --output /f/profile.json");
  CHECK(results_of(request, files_of(request, "/tmp/x")) == QStringList{"/f/profile.json"});
}

TEST_CASE("programs lie beside this one, or where HEADROOM_BIN says") {
  const FakePrograms fake;
  CHECK(programBeside("headroom-decode") ==
        QString::fromStdString((fake.scratch / "headroom-decode").string()));
  qunsetenv("HEADROOM_BIN");
  CHECK(programBeside("headroom-decode") == QCoreApplication::applicationDirPath() + "/headroom-decode");
}

}  // namespace
}  // namespace headroom::gui
