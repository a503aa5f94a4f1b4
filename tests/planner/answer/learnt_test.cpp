#include "planner/answer/learnt.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "decoder/base/json_fields.h"
#include "decoder/plan/plan_file.h"
#include "planner/answer/planner.h"
#include "planner/cost/seconds_range.h"
#include "planner/search/frontier.h"
#include "tests/support/own_cache.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom::planner {
namespace {

/// A decode of 2 s by its plan.
Plan some_plan() {
  Plan plan;
  plan.request.model = "tiny";
  plan.predicted_seconds = 2.5;
  plan.bound_seconds = 2;
  plan.passes.resize(2);
  for (Pass& pass : plan.passes) pass.predicted_seconds = 1;
  return plan;
}

/// Measurements of a decode that took `ratio` times its plan.
RunStats took(const Plan& plan, double ratio) {
  RunStats stats;
  stats.device = "a processor";
  for (const Pass& pass : plan.passes) stats.passes.push_back({"", 0, 0, 0, pass.predicted_seconds * ratio});
  return stats;
}

void learn_ratio(double ratio, const Plan& plan = some_plan()) {
  learn(plan, took(plan, ratio), false);
}

TEST_CASE("a learnt ratio is the lower middle of the last five decodes") {
  const test::OwnCache cache;
  const Request request = some_plan().request;
  CHECK(learnt_for(request) == LearntSeconds{});
  const std::vector<std::pair<double, double>> ratios_and_middles{
      {2, 2}, {0.5, 0.5}, {0.6, 0.6}, {9, 0.6}, {0.7, 0.7}, {0.7, 0.7}, {0.7, 0.7}, {8, 0.7}};
  int32_t decodes = 0;
  for (const auto& [ratio, middle] : ratios_and_middles) {
    learn_ratio(ratio);
    decodes = std::min(decodes + 1, 5);
    CHECK(learnt_for(request).decodes == decodes);
    CHECK(learnt_for(request).ratio == Approx(middle));
  }
  CHECK(cache.scratch.files() == std::vector<std::string>{"learnt.json"});
}

TEST_CASE("on a busy machine only faster decodes change the ratio of a processor") {
  const test::OwnCache cache;
  Plan plan = some_plan();
  learn(plan, took(plan, 3), true);
  CHECK(learnt_for(plan.request) == LearntSeconds{1, 3});
  learn(plan, took(plan, 3.5), true);
  CHECK(learnt_for(plan.request) == LearntSeconds{1, 3});
  learn(plan, took(plan, 1), true);
  CHECK(learnt_for(plan.request) == LearntSeconds{2, 1});
  learn(plan, took(plan, 2), true);
  CHECK(learnt_for(plan.request) == LearntSeconds{2, 1});
  plan.request.device = DeviceKind::cuda;
  learn(plan, took(plan, 1), true);
  learn(plan, took(plan, 3), true);
  learn(plan, took(plan, 3), true);
  CHECK(learnt_for(plan.request) == LearntSeconds{3, 3});
}

TEST_CASE("plans with learnt seconds teach the ratio of their costs") {
  const test::OwnCache cache;
  learn_ratio(0.5);
  Plan plan = some_plan();
  correct_seconds(plan, learnt_for(plan.request));
  CHECK(plan.predicted_seconds == 1.25);
  CHECK(plan.bound_seconds == 1);
  CHECK(plan.passes[0].predicted_seconds == 0.5);
  CHECK(costs_text(plan) == "by costs learnt from 1 decode here");
  const Plan once = plan;
  correct_seconds(plan, {3, 7});
  CHECK(plan == once);
  learn(plan, took(plan, 1), false);
  learn(plan, took(plan, 1), false);
  CHECK(learnt_for(plan.request) == LearntSeconds{3, 0.5});
}

TEST_CASE("decodes of one model count before those of others, and other dtypes and devices not at all") {
  const test::OwnCache cache;
  Plan plan = some_plan();
  learn_ratio(0.5);
  Plan other = plan;
  other.request.model = "another";
  CHECK(learnt_for(other.request) == LearntSeconds{1, 0.5});
  learn_ratio(0.25, other);
  CHECK(learnt_for(other.request) == LearntSeconds{1, 0.25});
  CHECK(learnt_for(plan.request) == LearntSeconds{1, 0.5});
  other.request.model = "a third";
  CHECK(learnt_for(other.request) == LearntSeconds{2, 0.25});

  Request elsewhere = plan.request;
  elsewhere.dtype = Dtype::bf16;
  CHECK(learnt_for(elsewhere).decodes == 0);
  elsewhere = plan.request;
  elsewhere.device = DeviceKind::cuda;
  CHECK(learnt_for(elsewhere).decodes == 0);

  // The device that decoded last is the one that decodes next.
  RunStats fewer_threads = took(plan, 1.5);
  fewer_threads.device = "a processor, 1 thread";
  learn(plan, fewer_threads, false);
  CHECK(learnt_for(plan.request) == LearntSeconds{1, 1.5});
  CHECK(learnt_for(other.request) == LearntSeconds{1, 1.5});
  learn_ratio(0.5);
  CHECK(learnt_for(plan.request) == LearntSeconds{2, 0.5});
}

TEST_CASE("some decodes teach nothing") {
  const test::OwnCache cache;
  Plan plan = some_plan();
  plan.assumed = false;  // planned by a profile
  learn_ratio(0.5, plan);
  plan = some_plan();
  plan.share = {0, 2, {0, 4}};
  learn_ratio(0.5, plan);
  plan = some_plan();
  learn_ratio(1e-4, plan);  // too short to tell
  learn_ratio(1e3, plan);   // suspended
  learn_ratio(std::numeric_limits<double>::quiet_NaN(), plan);
  plan.passes.clear();
  learn_ratio(1, plan);
  CHECK(cache.scratch.files().empty());
  setenv("HEADROOM_CACHE", "off", 1);
  learn_ratio(0.5);
  CHECK_FALSE(learnt_file());
  CHECK(learnt_for(plan.request).decodes == 0);
  CHECK(cache.scratch.files().empty());
}

TEST_CASE("a file of ratios that is damaged or cannot be written changes nothing else") {
  const test::OwnCache cache;
  const Request request = some_plan().request;
  learn_ratio(0.5);
  const std::string good = test::read_bytes(cache.file());
  for (const std::string& bad :
       {std::string("{"), std::string("[]"), std::string("\0\1", 2), good.substr(0, good.size() / 2),
        std::string(good).replace(good.find("0.5"), 3, "0.0"),
        std::string(good).replace(good.find("0.5"), 3, ""),
        std::string(good).replace(good.find("0.5"), 3, "1e9")}) {
    cache.scratch.write("learnt.json", bad);
    CHECK(learnt_for(request).decodes == 0);
    learn_ratio(0.25);
    CHECK(learnt_for(request) == LearntSeconds{1, 0.25});
  }
  std::filesystem::remove(cache.file());
  std::filesystem::create_directories(cache.file() / "in the way");
  learn_ratio(0.5);
  CHECK(learnt_for(request).decodes == 0);
}

TEST_CASE("the folder of ratios is HEADROOM_CACHE, or headroom in the user's cache") {
  const test::OwnCache cache;
  const std::string home = getenv("HOME") == nullptr ? "" : getenv("HOME");
  const std::string xdg = getenv("XDG_CACHE_HOME") == nullptr ? "" : getenv("XDG_CACHE_HOME");
  CHECK(learnt_file() == cache.file());
  unsetenv("HEADROOM_CACHE");
  setenv("HOME", "/home/user", 1);
  setenv("XDG_CACHE_HOME", "/var/cache", 1);
  CHECK(learnt_file() == "/var/cache/headroom/learnt.json");
  setenv("XDG_CACHE_HOME", "relative", 1);
  CHECK(learnt_file() == "/home/user/.cache/headroom/learnt.json");
  unsetenv("HOME");
  CHECK_FALSE(learnt_file());
  if (!home.empty()) setenv("HOME", home.c_str(), 1);
  unsetenv("XDG_CACHE_HOME");
  if (!xdg.empty()) setenv("XDG_CACHE_HOME", xdg.c_str(), 1);
}

TEST_CASE("several processes note decodes at a time") {
  const test::OwnCache cache;
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    int damaged = 0;
    for (int k = 0; k < 50; ++k) {
      learn_ratio(0.5);
      damaged += learnt_for(some_plan().request).ratio == 0.5 ? 0 : 1;
    }
    _exit(damaged);
  }
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  CHECK(learnt_for(some_plan().request).ratio == 0.5);
  CHECK(cache.scratch.files() == std::vector<std::string>{"learnt.json"});
}

TEST_CASE("learnt seconds change neither the plan nor its proof") {
  const test::OwnCache cache;
  const Model model = test::model_of(test::tiny_config());
  for (const DeviceKind device : {DeviceKind::cpu, DeviceKind::cuda}) {
    Question question{.request = test::request_for(model, {1, 8, 8}, 1, Dtype::fp32, device)};
    question.options.limit_bytes = int64_t{64} << 20;
    const Planner before(model, question);
    Plan assumed = before.fastest();
    CHECK(assumed.learnt.decodes == 0);
    Plan slow = assumed;  // long enough to teach
    for (Pass& pass : slow.passes) pass.predicted_seconds += 1;
    learn_ratio(0.3, slow);

    const Planner after(model, question);
    const Plan learnt = after.fastest();
    CHECK(learnt.learnt == LearntSeconds{1, after.costs().learnt().ratio});
    CHECK(learnt.learnt.ratio == Approx(0.3));
    CHECK(learnt.predicted_seconds == Approx(0.3 * assumed.predicted_seconds));
    CHECK(learnt.optimal == assumed.optimal);
    correct_seconds(assumed, learnt.learnt);
    CHECK(learnt == assumed);
    CHECK(after.smallest().learnt == learnt.learnt);
    CHECK(plan_from_json(JsonFields(to_json(learnt, model.graph), "plan"), model.graph) == learnt);

    const std::vector<FrontierPoint> was = frontier(before.problem_under(kNoLimit), 5),
                                     is = frontier(after.problem_under(kNoLimit), 5);
    REQUIRE(was.size() == is.size());
    for (size_t i = 0; i < is.size(); ++i) {
      CHECK(is[i].peak_bytes == was[i].peak_bytes);
      CHECK(is[i].seconds == Approx(0.3 * was[i].seconds));
    }
  }
}

}  // namespace
}  // namespace headroom::planner
