#include "planner/run/runner.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>

#include "decoder/base/errors.h"
#include "decoder/gpu/memory/gpu_memory.h"
#include "planner/answer/learnt.h"
#include "planner/answer/planner.h"
#include "tests/emulated_gpu/emulated_gpu.h"
#include "tests/support/decoding.h"
#include "tests/support/own_cache.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using Log = std::vector<std::string>;

/// Logs when a run plans, begins, starts a job and begins a pass.
class LoggedProgress final : public Progress {
 public:
  explicit LoggedProgress(Log& log) : log_(log) {}
  void tell(const ProgressNews& news) override {
    if (const auto* work = std::get_if<WorkDone>(&news)) log_.push_back(work->what);
    if (const auto* begun = std::get_if<RunBegun>(&news))
      log_.push_back(begun->decodes > 0 ? "begun " + std::to_string(begun->decodes) : "begun");
    if (const auto* job = std::get_if<DecodeStarted>(&news)) log_.push_back("job " + job->name);
    if (std::holds_alternative<PassStarted>(news) && log_.back() != "pass") log_.push_back("pass");
  }

 private:
  Log& log_;
};

/// Holds the picture in memory, and logs when it is finished.
class LoggedSink final : public PictureSink {
 public:
  LoggedSink(const PictureShape& shape, Log& log) : PictureSink(shape), log_(log) {}

 private:
  void put(int64_t, const Region&, const float*) override {}
  void complete() override { log_.emplace_back("finish"); }
  Log& log_;
};

/// A GPU that other processes share. `refusals` of its reservations fail, beginning with number `first`, and
/// each takes half of what is free beyond 512 MiB.
class SharedGpu final : public gpu::EmulatedGpu {
 public:
  explicit SharedGpu(int refusals, int first = 0) : refused_{first, first + refusals} {}
  ReservationSizes reservation_sizes() const override { return kLibtorchReservation; }
  int64_t free_bytes() const override { return (int64_t{512} << 20) + left_; }
  std::byte* reserve(int64_t bytes) override {
    const int64_t number = asked_++;
    if (number < refused_.begin || number >= refused_.end) return EmulatedGpu::reserve(bytes);
    left_ /= 2;
    throw LimitExceeded("others were quicker");
  }

 private:
  const Interval refused_;
  int64_t asked_ = 0, left_ = int64_t{64} << 20;
};

/// Work of a small model, and the log of its run.
struct Run {
  Work work;
  RunOptions options;
  Log log;

  const DeviceKind device;

  explicit Run(DeviceKind kind = DeviceKind::cpu) : device(kind) {
    work.model = test::model_of(test::tiny_config());
    work.weights = test::random_source(1);
    options.threads = 1;
    options.begun.program = "headroom-decode";
  }
  /// Adds a task with a question, and a job for it.
  Job& add(const Extent& latent, bool all_free = false) {
    planner::Question question{.request = test::request_for(work.model, latent, 1, Dtype::fp32, device)};
    question.options.limit_bytes = int64_t{64} << 20;
    const Array input = test::latent_for(work.model, question.request, work.jobs.size());
    work.tasks.push_back({"--limit", std::move(question), all_free});
    Job& job = work.jobs.emplace_back();
    job.task = work.tasks.size() - 1;
    job.name = std::to_string(work.jobs.size());
    job.input = [this, input] {
      log.emplace_back("input");
      return std::make_shared<const Array>(input);
    };
    job.target.open = [this](const std::filesystem::path&, const PictureShape& shape) {
      log.emplace_back("open");
      return std::make_unique<LoggedSink>(shape, log);
    };
    return job;
  }
  void share_gpu(int refusals, int first = 0) { work.gpu = std::make_unique<SharedGpu>(refusals, first); }
  RunStats run() {
    LoggedProgress progress(log);
    return headroom::run(work, options, progress);
  }
};

TEST_CASE("a single job opens its input and output before its session, and is traced and verified last") {
  Run run;
  run.add({1, 4, 4});
  run.options.trace = [&](const RecordedDecode& done) {
    run.log.emplace_back("trace");
    CHECK(done.stats.verification->compared_with == "itself");
    CHECK_FALSE(done.recorder.finish().events.empty());
  };
  run.options.verify = [&](const DoneJob& done) {
    run.log.emplace_back("verify");
    CHECK(&done.model == &run.work.model);
    CHECK(done.gpu == nullptr);
    Verification found;
    found.compared_with = "itself";
    return found;
  };
  const RunStats stats = run.run();
  CHECK(run.log == Log{"planning", "begun", "input", "open", "pass", "finish", "verify", "trace"});
  CHECK(stats.limit_bytes == int64_t{64} << 20);
  CHECK_FALSE(stats.weights_hash.empty());
  CHECK_FALSE(stats.queue);
}

TEST_CASE("a given plan runs as it is") {
  Run asked, given;
  asked.add({1, 4, 4});
  asked.run();
  given.add({1, 4, 4});
  given.work.tasks = {{"plan.json"}};
  given.work.plans = asked.work.plans;
  given.work.plans[0].limit_bytes += 4096;
  CHECK(given.run().limit_bytes == (int64_t{64} << 20) + 4096);
  CHECK(given.log == Log{"begun", "input", "open", "pass", "finish"});
  given.work.plans[0].passes.pop_back();
  CHECK_THROWS_WITH(given.run(), Catch::StartsWith("plan.json: "));
}

TEST_CASE("an input of another shape than planned opens no output") {
  Run run;
  run.add({1, 4, 4}).input = [] { return std::make_shared<const Array>(random_latent({1, 4, 5, 4}, 1)); };
  CHECK_THROWS_WITH(run.run(), Catch::Contains("latent: expected shape 1x4x4x4 as planned, found 1x4x5x4"));
  CHECK(run.log == Log{"planning", "begun"});
}

TEST_CASE("the jobs of a list take their turn") {
  Run run;
  run.work.is_list = true;
  run.add({1, 4, 4}).number = 7;
  run.add({1, 3, 5});
  const RunStats stats = run.run();
  const Log job{"input", "open", "pass", "finish"};
  Log expected{"planning", "begun 2"};
  for (const char* number : {"1", "2"}) {
    expected.push_back(std::string("job ") + number);
    expected.insert(expected.end(), job.begin(), job.end());
  }
  CHECK(run.log == expected);
  REQUIRE(stats.queue->decodes.size() == 2);
  CHECK(stats.queue->decodes[0].request == 7);
  CHECK(stats.queue->decodes[1].plan == 1);
}

TEST_CASE("a job that fails ends a list, and its message says how many are done") {
  Run run;
  run.work.is_list = true;
  run.work.called = "encodes";
  run.add({1, 4, 4});
  Job& bad = run.add({1, 4, 4});
  bad.place = "b.png";
  bad.input = []() -> std::shared_ptr<const Array> { throw InputError("expected a picture"); };
  run.add({1, 4, 4});
  CHECK_THROWS_WITH(run.run(), "b.png: expected a picture; 1 of 3 encodes were done");
  CHECK(std::count(run.log.begin(), run.log.end(), "finish") == 1);
}

TEST_CASE("options of a single job are for no list") {
  Run run;
  run.work.is_list = true;
  run.add({1, 4, 4});
  run.options.verify = [](const DoneJob&) { return Verification(); };
  CHECK_THROWS_AS(run.run(), std::logic_error);
  run.options.verify = {};
  run.work.jobs.clear();
  CHECK(run.run() == RunStats());
  CHECK(run.log.empty());
}

TEST_CASE("a job that takes all free memory of a GPU is planned up to three times") {
  for (const int refusals : {0, 1, 2}) {
    Run run(DeviceKind::cuda);
    run.share_gpu(refusals);
    run.add({1, 4, 4}, true);
    CHECK(run.run().limit_bytes == int64_t{64} << 20 >> refusals);
    CHECK(std::count(run.log.begin(), run.log.end(), "planning anew") == refusals);
    CHECK(std::count(run.log.begin(), run.log.end(), "open") == refusals + 1);
    CHECK(std::count(run.log.begin(), run.log.end(), "finish") == 1);
  }
  Run run(DeviceKind::cuda);
  run.share_gpu(3);
  run.add({1, 4, 4}, true);
  CHECK_THROWS_WITH(run.run(), Catch::Contains("--limit 8388608 ") && Catch::EndsWith(")"));
  CHECK(std::count(run.log.begin(), run.log.end(), "finish") == 0);
}

TEST_CASE("a given limit is planned once, and the message names the next smaller plan of a single task") {
  Run run(DeviceKind::cuda);
  run.share_gpu(1);
  run.add({1, 4, 4});
  CHECK_THROWS_WITH(run.run(), Catch::Contains("--limit 33554432 ") && Catch::Contains("(takes "));
  CHECK(run.log == Log{"planning", "begun", "input", "open"});

  run.share_gpu(1);
  run.work.is_list = true;
  run.add({1, 3, 5});
  CHECK_THROWS_AS(run.run(), OutOfGpuMemory);

  run.share_gpu(1);
  run.work.is_list = false;
  run.work.tasks.resize(1);
  run.work.jobs.resize(1);
  run.options.decode = [](std::unique_ptr<Session>, const Array&, PictureSink&, ProgressEvents&) -> RunStats {
    throw std::logic_error("no session was opened");
  };
  CHECK_THROWS_AS(run.run(), OutOfGpuMemory);
}

TEST_CASE("a second decode that finds too little GPU memory leaves the output, and nothing is planned anew") {
  Run run(DeviceKind::cuda);
  run.share_gpu(1, 1);
  run.add({1, 4, 4}, true);
  run.options.verify = [](const DoneJob& done) -> Verification {
    DiscardingSink second(test::picture_shape(done.model, done.plan.request));
    decode(done.model, done.plan, done.weights, done.input, second, {nullptr, {}, done.gpu});
    return {};
  };
  CHECK_THROWS_AS(run.run(), OutOfGpuMemory);
  CHECK(run.log == Log{"planning", "begun", "input", "open", "pass", "finish"});
}

TEST_CASE("a decode with other processes gets the session, and finishes the output itself") {
  Run run;
  run.add({1, 4, 4});
  run.options.decode = [&](std::unique_ptr<Session> session, const Array& input, PictureSink& output,
                           ProgressEvents& events) {
    RunStats stats = session->decode(0, input, output, &events);
    session.reset();
    run.log.emplace_back("exchange");
    output.finish();
    return stats;
  };
  run.run();
  CHECK(run.log == Log{"planning", "begun", "input", "open", "pass", "exchange", "finish"});
}

TEST_CASE("plans learn from finished decodes, of a queue as of one job, unless they are recorded") {
  const test::OwnCache cache;
  const auto learnt = [](const Run& run) {
    return planner::learnt_for(run.work.tasks[0].question->request).decodes;
  };
  Run one;
  one.add({1, 64, 64});
  one.run();
  CHECK(learnt(one) == 1);
  one.options.trace = [](const RecordedDecode&) {};
  one.run();
  CHECK(learnt(one) == 1);

  std::filesystem::remove(cache.file());
  Run list;
  list.work.is_list = true;
  list.add({1, 64, 64});
  list.add({1, 64, 64});
  list.run();
  CHECK(learnt(list) >= 1);  // on a busy machine a slower decode does not count
}

}  // namespace
}  // namespace headroom
