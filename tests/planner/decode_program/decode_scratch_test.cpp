#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "decoder/base/os/left_behind.h"
#include "decoder/families/load_model.h"
#include "decoder/files/latent_file.h"
#include "decoder/plan/plan_file.h"
#include "planner/decode_program/run.h"
#include "tests/planner/decode_program/ready_decode.h"
#include "tests/support/random_plan.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::call;
using test::Ended;
using test::joined;
using test::ReadyDecode;
using test::require_refused;
using test::Scratch;
using test::Words;

/// A decode of a few seconds that keeps what it can in a scratch file and brings its weights in pass by pass.
struct Moving : ReadyDecode {
  std::string folder = scratch / "disk";

  explicit Moving(int64_t rows = 6) {
    std::filesystem::create_directory(folder);
    const Model of = resolve_model(model);
    latent = random_latent({1, 4, rows, 6}, 3);
    test::write_npy(latent_file, latent);
    test::Random random(4);
    test::RandomStyle style;
    style.keep = style.below = style.untiled_columns = 1;
    style.in_place = style.untiled_rows = 0;
    style.most_tiles = 400;
    MemoryModel memory;
    memory.block_bytes = 20'000;
    memory.reserve_bytes = int64_t{16} << 20;
    const PlanConfiguration configuration{1, WeightResidency::per_pass, MemoryTier::scratch};
    Plan plan = test::random_plan(of, test::request_for(of, {1, rows, 6}), 1, style, memory, random, {},
                                  configuration)
                    .plan;
    plan.request.model = model;
    // This model of memory leaves out what libraries take.
    for (Pass& pass : plan.passes) pass.predicted_peak_bytes += int64_t{64} << 20;
    plan.predicted_peak_bytes += int64_t{64} << 20;
    plan.limit_bytes = plan.predicted_peak_bytes;
    plan.scratch_folder = folder;
    plan.scratch_limit_bytes = int64_t{1} << 30;
    write_plan(plan_file, plan, of.graph);
  }
};

TEST_CASE("a plan with a scratch file runs, compares and says what it moved") {
  const Moving ready;
  const Ended ended = call(run_decode, joined(ready.words(), {"--verify", "--json"}));
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const json stats = json::parse(ended.out);
  CHECK(stats["verification"]["largest_error_relative"].get<double>() <= 1e-5);
  CHECK(stats["scratch_written_bytes"].get<int64_t>() > 0);
  CHECK(stats["scratch_read_bytes"] >= stats["scratch_written_bytes"]);
  CHECK(stats["transfer_wait_seconds"].get<double>() >= 0);
  CHECK(std::filesystem::is_empty(ready.folder));
}

TEST_CASE("a plan's scratch folder and limit give way to --scratch and --scratch-limit") {
  const Moving ready;
  const std::string other = ready.scratch / "other";
  ready.refuses({"--scratch", other}, {"other", "no such folder"});
  ready.refuses({"--scratch", "/dev/shm"}, {"/dev/shm", "is in memory"});
  ready.refuses({"--scratch-limit", "8KiB"}, {"scratch", "limit", "8192"});
  ready.refuses({"--scratch-limit", "much"}, {"--scratch-limit", "much"});
  std::filesystem::remove(ready.folder);
  ready.refuses({}, {"disk", "no such folder"});
  std::filesystem::create_directory(other);
  CHECK(ready.decode({"--scratch", other}).code == 0);
}

/// Starts the built program and ends it with this signal, `milliseconds` after it began its output in
/// `folder`. False where it had ended by then.
bool interrupted(const Words& words, const Scratch& folder, int signal_number, int milliseconds) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<std::string> all = joined({HEADROOM_BIN "/headroom-decode"}, words);
    std::vector<char*> argv;
    for (std::string& word : all) argv.push_back(word.data());
    argv.push_back(nullptr);
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  const auto began = [&] {
    const std::vector<std::string> names = folder.files();
    const std::string mark = ".partial-" + process_mark(child);
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return name.ends_with(mark); });
  };
  siginfo_t ended{};
  while (!began() && waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0) {
    usleep(1000);
  }
  usleep(static_cast<useconds_t>(milliseconds) * 1000);
  kill(child, signal_number);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == signal_number;
}

/// Contents of a file, or of all files in a folder, by name.
std::map<std::string, std::string> contents(const std::filesystem::path& path) {
  std::map<std::string, std::string> files;
  const auto add = [&](const std::filesystem::path& file, const std::string& name) {
    std::ifstream in(file, std::ios::binary);
    files[name] = {std::istreambuf_iterator<char>(in), {}};
  };
  if (!std::filesystem::is_directory(path))
    add(path, "");
  else
    for (const auto& entry : std::filesystem::directory_iterator(path))
      add(entry.path(), entry.path().filename());
  return files;
}

TEST_CASE("a decode that is ended by a signal leaves no output and no scratch file") {
  const Moving ready(600);
  const std::string suffix = GENERATE(".npy", ".png", "/");
  const Words words = ready.words({"-o", ready.scratch / ("out" + suffix)});
  const auto partial_files = [&] {
    int count = 0;
    for (const std::string& name : ready.scratch.files())
      count += name.find(".partial-") != std::string::npos ? 1 : 0;
    return count;
  };
  const Words undisturbed = ready.words({"-o", ready.scratch / ("whole" + suffix)});
  REQUIRE(call(run_decode, undisturbed).code == 0);
  // None, or all of it: a signal may come when all is done but the process's own end.
  const auto none_or_whole = [&] {
    const std::filesystem::path out = ready.scratch / ("out" + suffix);
    const bool sound =
        !std::filesystem::exists(out) || contents(out) == contents(ready.scratch / ("whole" + suffix));
    std::filesystem::remove_all(out);
    return sound;
  };
  int killed = 0, terminated = 0, left = 0;
  for (const int milliseconds : {0, 30, 100, 300}) {
    CAPTURE(suffix, milliseconds);
    // Killed: what was written so far stays under a name of its own.
    if (interrupted(words, ready.scratch, SIGKILL, milliseconds)) {
      ++killed;
      left += partial_files();
    }
    CHECK(none_or_whole());
    CHECK(std::filesystem::is_empty(ready.folder));
    // Asked to end: nothing stays, nor what the killed one left.
    for (const int number : {SIGTERM, SIGINT}) {
      if (interrupted(words, ready.scratch, number, milliseconds)) {
        ++terminated;
        CHECK(partial_files() == 0);
      }
      CHECK(none_or_whole());
    }
    CHECK(std::filesystem::is_empty(ready.folder));
  }
  CHECK(killed > 0);
  CHECK(terminated > 0);
  CHECK(left > 0);
}

}  // namespace
}  // namespace headroom
