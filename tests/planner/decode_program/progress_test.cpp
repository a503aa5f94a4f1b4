#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/base/json_fields.h"
#include "decoder/files/eight_bit.h"
#include "decoder/files/latent_file.h"
#include "planner/decode_program/run.h"
#include "planner/program/run.h"
#include "tests/support/model_folder.h"
#include "tests/support/program.h"
#include "tests/support/reported.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::call;
using test::Ended;
using test::joined;
using test::Reported;
using test::Scratch;
using test::told;
using test::Words;

/// A tiny model, a latent and a plan with tiles.
struct ReadyProgress {
  Scratch scratch;
  std::string model, latent, plan_file = scratch / "plan.json", output = scratch / "out.npy",
                             stats = scratch / "stats.json";

  explicit ReadyProgress(int64_t rows = 40, const std::string& limit = "9MiB", int64_t batch = 1) {
    json config = test::tiny_config();
    config["scaling_factor"] = 1;  // of whose latents there is nothing to say
    model = test::write_model(scratch / "model", config, 1);
    latent = test::write_npy(scratch / "latent.npy", random_latent({batch, 4, rows, 32}, 3));
    const Ended planned =
        call(planner::run_plan, {"--model", model, "--size", "64x" + std::to_string(2 * rows), "--batch",
                                 std::to_string(batch), "--limit", limit, "--thrift", "0", "-o", plan_file});
    INFO(planned.err);
    REQUIRE(planned.code == 0);
  }
  Words words(const Words& more = {}) const {
    return joined({"--plan", plan_file, "--model", model, "--latent", latent, "-o", output, "--threads", "2",
                   "--stats", stats},
                  more);
  }
  json plan() const { return read_json_file(plan_file, 1 << 26); }
};

TEST_CASE("with --progress lines a decode tells what it does, from beginning to end") {
  const ReadyProgress ready(40, "1.33MiB");
  const Ended ended = call(run_decode, ready.words({"--progress", "lines"}));
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const Reported lines = told(ended.err);
  CHECK(lines.messages.empty());
  CHECK(read_latent(ready.output).shape == std::vector<int64_t>{1, 3, 80, 64});

  const json plan = ready.plan(), stats = read_json_file(ready.stats, 1 << 20);
  REQUIRE(std::holds_alternative<RunBegun>(lines.events.front().news));
  const auto begun = std::get<RunBegun>(lines.events.front().news);
  CHECK(begun.program == "headroom-decode");
  CHECK(begun.model == ready.model);
  CHECK(begun.output == ready.output);
  CHECK(begun.preview.empty());
  CHECK(begun.limit_bytes == plan["limit_bytes"]);
  CHECK(begun.predicted_peak_bytes == plan["predicted"]["peak_bytes"]);
  CHECK(begun.width_pixels == 64);
  CHECK(begun.height_pixels == 80);
  CHECK(begun.batch == 1);
  CHECK(begun.passes == static_cast<int64_t>(plan["passes"].size()));

  double seconds = 0, share = 0;
  for (const ProgressEvent& event : lines.events) {
    CHECK(event.seconds >= seconds);
    seconds = event.seconds;
    if (const auto* tile = std::get_if<TileDone>(&event.news)) {
      CHECK(tile->share >= share);
      CHECK(tile->pass < begun.passes);
      CHECK(tile->tile < tile->of);
      share = tile->share;
    }
  }
  CHECK(share == 1);
  REQUIRE(lines.news<PassStarted>().size() > 0);
  CHECK(lines.news<PassStarted>().back().pass == begun.passes - 1);
  CHECK(lines.news<PassStarted>().back().name == plan["passes"].back()["name"].get<std::string>());
  CHECK(lines.news<WeightsLoaded>().empty());  // this plan brings them in pass by pass

  // All of the picture came, and only in the pass that emits it.
  int64_t rows = 0;
  for (const TileDone& tile : lines.news<TileDone>()) {
    if (!tile.region) continue;
    CHECK(tile.pass == begun.passes - 1);
    CHECK(tile.region->rows.begin <= rows);
    rows = std::max(rows, tile.region->rows.end);
  }
  CHECK(rows == 80);

  int64_t peak = 0;
  for (const MemorySample& sample : lines.news<MemorySample>()) {
    CHECK(sample.live_bytes <= sample.peak_bytes);
    CHECK(sample.peak_bytes <= begun.limit_bytes);
    CHECK(sample.outside_bytes <= int64_t{1} << 30);
    peak = std::max(peak, sample.peak_bytes);
  }
  REQUIRE(peak > 0);
  CHECK(peak <= stats["pool_peak_bytes"]);

  REQUIRE(std::holds_alternative<RunEnded>(lines.events.back().news));
  const auto end = std::get<RunEnded>(lines.events.back().news);
  CHECK(end.exit_code == 0);
  CHECK(end.peak_bytes == stats["peak_bytes"]);
  CHECK(end.decode_seconds == Approx(stats["seconds"].get<double>()).margin(0.001));
}

TEST_CASE("progress changes no pixel and no trace, and is not reported unless it is asked for") {
  const ReadyProgress ready;
  const std::string trace = ready.scratch / "trace.json";
  const auto decode = [&](const Words& more) { return call(run_decode, ready.words(more)); };
  const Ended silent = decode({"--trace", trace});
  REQUIRE(silent.code == 0);
  CHECK(silent.err.empty());
  const std::string picture = test::read_bytes(ready.output);
  const json recorded = read_json_file(trace, 1 << 26);
  REQUIRE(decode({"--progress", "lines", "--preview", ready.scratch / "p.ppm", "--trace", trace}).code == 0);
  CHECK(test::read_bytes(ready.output) == picture);
  const json recorded_again = read_json_file(trace, 1 << 26);
  for (const char* key : {"tiles", "passes", "steps"}) {
    CAPTURE(key);
    CHECK(recorded[key].size() > 0);
    CHECK(recorded_again[key].size() == recorded[key].size());
  }
  const auto untimed = [](json events) {
    for (json& event : events) event.erase(0);
    return events;
  };
  CHECK(recorded["events"].size() > 50);
  CHECK(untimed(recorded_again["events"]) == untimed(recorded["events"]));
  CHECK(decode({"--quiet"}).err.empty());
  CHECK(decode({"--progress", "none"}).err.empty());
  CHECK_THAT(decode({"--progress", "bar"}).err, Catch::EndsWith("\r\033[K"));
  test::require_refused(decode({"--progress", "loud"}), 2, {"--progress"});
  test::require_refused(decode({"--progress", "lines", "--quiet"}), 2, {"--quiet"});
}

TEST_CASE("a batch in micro-batches counts as one whole") {
  const ReadyProgress ready(40, "1.79MiB", 3);
  REQUIRE(ready.plan()["micro_batch"] < 3);
  const auto passes = static_cast<int64_t>(ready.plan()["passes"].size());
  const Ended ended = call(run_decode, ready.words({"--progress", "lines"}));
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  double share = 0;
  int64_t item = 0;
  for (const TileDone& tile : told(ended.err).news<TileDone>()) {
    CHECK(tile.share >= share);
    CHECK(tile.item >= item);
    CHECK(tile.share <= double(tile.item + 1) / 3 + 1e-4);
    // The previous micro-batch's rows may share a line with a tile of this one.
    CHECK((!tile.region || tile.pass == passes - 1 || tile.item > 0));
    share = tile.share;
    item = tile.item;
  }
  CHECK(share == 1);
  CHECK(item == 2);
}

TEST_CASE("a decode that fails says so in its last line, behind its message") {
  const ReadyProgress ready;
  json plan = ready.plan();
  SECTION("bad input") {
    const Ended ended = call(run_decode, joined({"--plan", ready.scratch / "none.json"},
                                                {"--model", ready.model, "--latent", ready.latent, "-o",
                                                 ready.output, "--progress", "lines"}));
    CHECK(ended.code == 2);
    const Reported lines = told(ended.err);
    REQUIRE(lines.messages.size() == 1);
    CHECK_THAT(lines.messages[0], Catch::Contains("none.json: no such file"));
    REQUIRE(lines.events.size() == 1);
    CHECK(std::get<RunEnded>(lines.events[0].news) == RunEnded{2, 0, 0});
  }
  SECTION("the limit is reached") {
    int stopped = 0;
    for (const double part : {0.3, 0.5, 0.7, 0.9}) {
      json low = plan;
      const int64_t weights = plan["weights_bytes"], reserve = plan["reserve_bytes"];
      const int64_t own = plan["predicted"]["peak_bytes"].get<int64_t>() - reserve - weights;
      low["reserve_bytes"] = 0;
      low["limit_bytes"] = weights + static_cast<int64_t>(double(own) * part);
      low["predicted"]["peak_bytes"] = low["limit_bytes"];
      for (json& pass : low["passes"]) pass["predicted"]["peak_bytes"] = low["limit_bytes"];
      ready.scratch.write("plan.json", low.dump());
      const Ended ended =
          call(run_decode, ready.words({"--progress", "lines", "--preview", ready.scratch / "p.ppm"}));
      if (ended.code != 4) continue;  // refused by the validator, or enough after all
      ++stopped;
      const Reported lines = told(ended.err);
      CHECK_THAT(lines.messages.back(), Catch::Contains("stopped at the limit"));
      CHECK(std::get<RunEnded>(lines.events.back().news) == RunEnded{4, 0, 0});
      for (const MemorySample& sample : lines.news<MemorySample>())
        CHECK(sample.peak_bytes <= low["limit_bytes"]);
      CHECK_FALSE(std::filesystem::exists(ready.scratch / "p.ppm"));
    }
    CHECK(stopped > 0);
  }
}

TEST_CASE("with --verify the second decode is reported as such") {
  const ReadyProgress ready;
  const Ended ended = call(run_decode, ready.words({"--progress", "lines", "--verify"}));
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const Reported lines = told(ended.err);
  const std::vector<VerificationStarted> started = lines.news<VerificationStarted>();
  REQUIRE(started.size() == 1);
  CHECK(started[0].compared_with == "the untiled decode");
}

TEST_CASE("a queue is reported decode by decode, and its share is that of the whole") {
  const ReadyProgress ready(400, "40MiB");
  const json request{{"name", "a"}, {"width_pixels", 64},     {"height_pixels", 800},
                     {"count", 3},  {"latent", "latent.npy"}, {"output", "q-{i}.npy"}};
  const std::string requests = ready.scratch.write(
      "requests.json", json{{"schema", "headroom.requests"}, {"version", 1}, {"requests", {request}}}.dump());
  const std::string queue = ready.scratch / "queue.json";
  REQUIRE(
      call(planner::run_plan, {"queue", requests, "--model", ready.model, "--limit", "64MiB", "-o", queue})
          .code == 0);
  const Words words{"--queue", queue, "--model", ready.model, "--threads", "2", "--progress", "lines"};
  const Ended ended = call(run_decode, words);
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const Reported lines = told(ended.err);
  CHECK(std::get<RunBegun>(lines.events.front().news).decodes == 3);
  CHECK(lines.news<DecodeStarted>().back() == DecodeStarted{2, 3, "a"});
  double share = 0, all = 0;
  for (const ProgressEvent& event : lines.events) {
    if (const auto* started = std::get_if<DecodeStarted>(&event.news)) all = double(started->decode + 1) / 3;
    const auto* tile = std::get_if<TileDone>(&event.news);
    if (tile == nullptr) continue;
    CHECK(tile->share >= share);
    CHECK(tile->share <= all + 1e-3);
    share = tile->share;
  }
  CHECK(share == Approx(1).margin(1e-3));
  test::require_refused(call(run_decode, joined(words, {"--preview", ready.scratch / "p.ppm"})), 2,
                        {"--preview", "--queue"});
}

/// A started headroom-decode whose standard error is a pipe.
struct Child {
  pid_t process = 0;
  int error = -1;
  explicit Child(const Words& words) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    process = fork();
    if (process == 0) {
      dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      close(ends[0]);
      close(ends[1]);
      std::vector<std::string> all = joined({HEADROOM_BIN "/headroom-decode"}, words);
      std::vector<char*> argv;
      for (std::string& word : all) argv.push_back(word.data());
      argv.push_back(nullptr);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(ends[1]);
    error = ends[0];
  }
  /// Reads until the text is there or the program ends.
  std::string read_until(const std::string& text) const {
    std::string all;
    char buffer[512];
    ssize_t got;
    while (all.find(text) == std::string::npos && (got = read(error, buffer, sizeof buffer)) > 0)
      all.append(buffer, static_cast<size_t>(got));
    return all;
  }
  int wait() {
    int status = 0;
    waitpid(process, &status, 0);
    return status;
  }
};

TEST_CASE("a decode outlives whoever reads its progress") {
  const ReadyProgress ready(400, "40MiB");
  Child child(ready.words({"--progress", "lines"}));
  CHECK_THAT(child.read_until("\"begin\""), Catch::Contains("headroom-progress {"));
  close(child.error);
  const int status = child.wait();
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(read_latent(ready.output).shape == std::vector<int64_t>{1, 3, 800, 64});
}

TEST_CASE("a preview goes with a decode that a signal ends") {
  const ReadyProgress ready(2000, "40MiB");
  const std::string preview = ready.scratch / "p.ppm";
  Child child(ready.words({"--progress", "lines", "--preview", preview}));
  child.read_until("\"pass\"");
  CHECK(std::filesystem::exists(preview));
  kill(child.process, SIGTERM);
  const int status = child.wait();
  close(child.error);
  CHECK(WIFSIGNALED(status));
  CHECK_FALSE(std::filesystem::exists(preview));
  CHECK_FALSE(std::filesystem::exists(ready.output));
}

}  // namespace
}  // namespace headroom
