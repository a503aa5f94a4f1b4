#include "gui/model/replanner.h"

#include <QElapsedTimer>
#include <QSignalSpy>
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/validator/validator.h"
#include "gui/model/groundwork.h"
#include "planner/search/make_plan.h"
#include "tests/gui/sample_files.h"

namespace headroom::gui {
namespace {

using test::sample_files;
using test::wait_until;

PlanningQuestion demo_question(int64_t limit_bytes, int64_t width = 64, int64_t height = 48) {
  PlanningQuestion question;
  question.request = {HEADROOM_TEST_DATA "/demo_model", width, height, 1, 1, Dtype::fp32};
  question.options.limit_bytes = limit_bytes;
  return question;
}

/// A question whose search takes long.
PlanningQuestion large_question() {
  PlanningQuestion question;
  question.request = {"sdxl", 8192, 8192, 1, 4, Dtype::bf16};
  question.options.limit_bytes = int64_t{3} << 30;
  question.options.scratch_folder = "/tmp";
  question.options.scratch_limit_bytes = int64_t{1} << 42;
  return question;
}

struct Captured {
  explicit Captured(Replanner& replanner) {
    QObject::connect(&replanner, &Replanner::answered, &replanner,
                     [this](const Answer& a) { answers.push_back(a); });
    QObject::connect(&replanner, &Replanner::frontierFound, &replanner,
                     [this](const FoundFrontier& f) { frontiers.push_back(f); });
  }
  std::vector<Answer> answers;
  std::vector<FoundFrontier> frontiers;
};

const Plan& plan_in(const Answer& answer) {
  REQUIRE(answer.plan != nullptr);
  return answer.plan->as<reports::PlanDocument>()->plan;
}

TEST_CASE("replanner: a moved limit is answered with the plan that the planner makes") {
  Replanner replanner;
  Captured captured(replanner);
  const Plan& sample = sample_files().plan().plan;
  const Model& model = sample_files().plan().model;
  const planner::CostModel costs(model.graph);
  for (const double share : {1.0, 3.0, 0.9, 1.2, 3.0}) {
    CAPTURE(share);
    const auto limit = static_cast<int64_t>(double(sample.limit_bytes) * share);
    replanner.ask(demo_question(limit));
    CHECK(replanner.busy());
    wait_until([&] { return !replanner.busy(); });
    const Answer& answer = captured.answers.back();
    CHECK(answer.failure.isEmpty());
    CHECK(answer.final);
    CHECK(answer.question.options.limit_bytes == limit);
    CHECK(validate(plan_in(answer), model).empty());
    CHECK(plan_in(answer) ==
          planner::make_plan({model, demo_question(limit).request, demo_question(limit).options, costs})
              .value());
    CHECK(answer.peak.bytes <= limit);
    CHECK_FALSE(answer.peak.live.empty());
  }
}

/// Plans for a GPU have gaps between what is live, and the fastest plan may leave no room for them.
TEST_CASE(
    "replanner: a plan for a GPU has room for its gaps within the limit, and does not pose as optimal") {
  Replanner replanner;
  Captured captured(replanner);
  const Model& model = sample_files().plan().model;
  const planner::CostModel costs(model.graph, DeviceKind::cuda);
  PlanningQuestion question = demo_question(0, 512, 384);
  question.request.device = DeviceKind::cuda;
  const planner::Spaces spaces = planner::spaces_of({model, question.request, question.options, costs});
  const int64_t smallest = planner::smallest_over(spaces).smallest.bytes;
  int planned = 0, slower = 0, refused = 0;
  for (const double share : {1.0, 1.005, 1.02, 1.05, 1.08, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.7, 2.0}) {
    const auto limit = static_cast<int64_t>(double(smallest) * share);
    CAPTURE(share, limit);
    question.options.limit_bytes = limit;
    replanner.ask(question);
    wait_until([&] { return !replanner.busy(); });
    const Answer& answer = captured.answers.back();
    CHECK(answer.failure.isEmpty());
    if (answer.plan == nullptr) {
      REQUIRE(answer.why_not);
      CHECK(answer.why_not->smallest_limit_bytes > limit);
      ++refused;
      continue;
    }
    const Plan& plan = plan_in(answer);
    ++planned;
    CHECK(plan.limit_bytes == limit);
    CHECK(plan.predicted_peak_bytes <= limit);
    CHECK(validate(plan, model).empty());
    // On a busy machine the proof may not end in its time. Then the bound is lower, and never higher.
    const double fastest = planner::fastest_over(spaces, question.request, limit).best->seconds * (1 + 1e-9);
    CHECK(plan.bound_seconds <= fastest);
    if (plan.optimal) CHECK(plan.predicted_seconds <= fastest);
    if (plan.predicted_seconds > fastest) ++slower;
  }
  CAPTURE(planned, slower, refused);
  CHECK(planned > 5);
  CHECK(slower + refused > 0);
}

TEST_CASE("replanner: of many questions only the newest is reported") {
  Replanner replanner;
  Captured captured(replanner);
  QSignalSpy busy(&replanner, &Replanner::busyChanged);
  const int64_t limit = sample_files().plan().plan.limit_bytes;
  for (int i = 0; i < 20; ++i) replanner.ask(demo_question(limit + i * 65536, i % 2 == 0 ? 64 : 80));
  wait_until([&] { return !replanner.busy(); });
  REQUIRE_FALSE(captured.answers.empty());
  for (const Answer& answer : captured.answers) {
    CHECK(answer.question.options.limit_bytes == limit + 19 * 65536);
    CHECK(answer.question.request.width_pixels == 80);
  }
  CHECK(busy.size() == 2);

  // One that is asked while an answer to another is on its way.
  captured.answers.clear();
  replanner.ask(demo_question(limit));
  QElapsedTimer time;
  for (time.start(); time.elapsed() < 300;) {
  }
  replanner.ask(demo_question(limit + 65536));
  wait_until([&] { return !replanner.busy(); });
  for (const Answer& answer : captured.answers) CHECK(answer.question.options.limit_bytes == limit + 65536);
}

TEST_CASE("replanner: where nothing fits, the smallest limit comes first, then what else would help") {
  Replanner replanner;
  Captured captured(replanner);
  PlanningQuestion question = demo_question(1 << 20);
  question.options.weights = WeightResidency::resident;
  replanner.ask(question);
  wait_until([&] { return !replanner.busy(); });
  REQUIRE(captured.answers.size() >= 3);
  for (const Answer& answer : captured.answers) {
    CHECK(answer.plan == nullptr);
    CHECK(answer.failure.isEmpty());
    CHECK(answer.final == (&answer == &captured.answers.back()));
  }
  const auto first_refusal = std::find_if(captured.answers.begin(), captured.answers.end(),
                                          [](const Answer& answer) { return answer.why_not.has_value(); });
  const planner::WhyNot why = *captured.answers.back().why_not;
  const double why_seconds = captured.answers.back().seconds;
  CHECK(first_refusal->seconds < why_seconds / 2);
  CHECK(std::next(first_refusal)->why_not->smallest_limit_bytes == why.smallest_limit_bytes);
  CHECK_FALSE(why.pass_name.empty());
  CHECK_FALSE(why.blockers.empty());
  CHECK_FALSE(why.remedies.empty());

  question.options.limit_bytes = why.smallest_limit_bytes;
  replanner.ask(question);
  wait_until([&] { return !replanner.busy(); });
  CHECK(plan_in(captured.answers.back()).predicted_peak_bytes == why.smallest_limit_bytes);
  // From now on the smallest limit is known at once.
  question.options.limit_bytes -= 1;
  captured.answers.clear();
  replanner.ask(question);
  wait_until([&] { return !captured.answers.empty() && captured.answers.back().why_not; });
  CHECK(captured.answers.back().why_not->smallest_limit_bytes == why.smallest_limit_bytes);
  // And a limit that fits does not wait for what else would help.
  question.options.limit_bytes = why.smallest_limit_bytes;
  QElapsedTimer rest;
  for (rest.start(); rest.elapsed() < 300;) QCoreApplication::processEvents(QEventLoop::AllEvents, 10);
  captured.answers.clear();
  replanner.ask(question);
  wait_until([&] { return !captured.answers.empty() && captured.answers.back().plan != nullptr; });
  CHECK(captured.answers.back().seconds < why_seconds / 2);
}

TEST_CASE("replanner: the frontier gets finer and ends where the planner's own does") {
  Replanner replanner;
  Captured captured(replanner);
  const PlanningQuestion question = demo_question(0);
  replanner.askFrontier(question, 12);
  wait_until([&] { return !replanner.busy(); });
  REQUIRE_FALSE(captured.frontiers.empty());
  const FoundFrontier& found = captured.frontiers.back();
  CHECK(found.complete);
  const Model& model = sample_files().plan().model;
  const planner::CostModel costs(model.graph);
  const std::vector<planner::FrontierPoint> own = planner::frontier({model, question.request, {}, costs}, 12);
  CHECK(found.untiled.bytes == planner::untiled_peak(model, question.request, costs).bytes);
  REQUIRE(found.points.size() > 2);
  CHECK(found.points.size() <= 12);
  CHECK(found.points.front().seconds == Approx(own.front().seconds));
  CHECK(found.points.back().peak_bytes == own.back().peak_bytes);
  for (size_t i = 0; i < found.points.size(); ++i) {
    const planner::FrontierPoint& point = found.points[i];
    CAPTURE(i, point.peak_bytes);
    if (i > 0) {
      CHECK(point.peak_bytes < found.points[i - 1].peak_bytes);
      CHECK(point.seconds > found.points[i - 1].seconds);
    }
    const Plan plan =
        planner::make_plan({model, question.request, {.limit_bytes = point.peak_bytes}, costs}).value();
    CHECK(plan.predicted_seconds == Approx(point.seconds));
  }
  // Its points are plans that need not be searched again.
  PlanningQuestion at_point = demo_question(found.points[1].peak_bytes);
  at_point.options.thrift = 0;
  replanner.ask(at_point);
  wait_until([&] { return !replanner.busy(); });
  CHECK(plan_in(captured.answers.back()).predicted_seconds == Approx(found.points[1].seconds));
}

TEST_CASE("replanner: what cannot be planned at all is said in the words of the tools") {
  Replanner replanner;
  Captured captured(replanner);
  const auto failure_of = [&](const PlanningQuestion& question) {
    replanner.ask(question);
    wait_until([&] { return !replanner.busy(); });
    CHECK(captured.answers.back().plan == nullptr);
    return captured.answers.back().failure.toStdString();
  };
  PlanningQuestion question = demo_question(1 << 26);
  question.request.model = "no-such-model";
  CHECK_THAT(failure_of(question), Catch::Contains("no-such-model: expected a folder with config.json"));
  CHECK_THAT(failure_of(demo_question(1 << 26, 65)), Catch::Contains("--size: expected a width"));
  question = demo_question(1 << 26);
  question.profile = test::document_of(test::made_up_profile(), "profile.json");
  CHECK_THAT(failure_of(question), Catch::Contains("profile.json: layers"));
  replanner.askFrontier(demo_question(0, 65), 8);
  wait_until([&] { return !replanner.busy(); });
  CHECK_THAT(captured.frontiers.back().failure.toStdString(), Catch::Contains("--size"));
  // And the next one is answered.
  replanner.ask(demo_question(sample_files().plan().plan.limit_bytes));
  wait_until([&] { return !replanner.busy(); });
  CHECK(captured.answers.back().plan != nullptr);
}

TEST_CASE("replanner: is gone long before its search ends") {
  for (const int wait_milliseconds : {0, 50, 300}) {
    CAPTURE(wait_milliseconds);
    auto replanner = std::make_unique<Replanner>();
    replanner->askFrontier(large_question(), 64);
    replanner->ask(large_question());
    QElapsedTimer time;
    time.start();
    while (time.elapsed() < wait_milliseconds) QCoreApplication::processEvents(QEventLoop::AllEvents, 5);
    time.restart();
    replanner.reset();
    CHECK(time.elapsed() < 5000);  // the search takes more than twice as long
  }
}

planner::ConfigurationSearch found_search(int64_t peak_bytes, double seconds, bool in_time = true) {
  planner::ConfigurationSearch search;
  search.best.emplace();
  search.best->solution.peak_bytes = peak_bytes;
  search.best->seconds = seconds;
  search.in_time = in_time;
  return search;
}

TEST_CASE("found plans: each holds from its peak to the limit that it was found under") {
  FoundPlans found;
  CHECK(found.points().empty());
  constexpr int64_t kAmple = std::numeric_limits<int64_t>::max();
  CHECK(found.next_limit() == kAmple);
  found.add(kAmple, found_search(1'000'001, 1));
  CHECK_FALSE(found.next_limit());
  found.add(1'000'000, found_search(900'000, 1));
  found.add(100'000, found_search(100'000, 9));
  CHECK_FALSE(found.under(899'999));
  CHECK(found.under(900'000)->best->seconds == 1);
  CHECK(found.under(1'000'000)->best->seconds == 1);
  CHECK_FALSE(found.under(99'999));
  CHECK(*found.next_limit() == Approx(300'000).epsilon(1e-3));
  // The plan is as slow as the smallest one. So it closes the gap below it and adds no point.
  found.add(300'000, found_search(280'000, 9));
  CHECK(*found.next_limit() == Approx(519'615).epsilon(1e-3));
  CHECK(found.points().size() == 2);
  // Not proven: a point, but no answer.
  found.add(519'615, found_search(500'000, 4, false));
  CHECK_FALSE(found.under(510'000));
  CHECK(found.fitting(510'000)->best->seconds == 4);
  CHECK(found.fitting(600'000)->best->seconds == 4);
  CHECK_FALSE(found.fitting(99'999));
  const std::vector<planner::FrontierPoint> points = found.points();
  REQUIRE(points.size() == 3);
  CHECK(points[0].peak_bytes == 900'000);
  CHECK(points[1].peak_bytes == 500'000);
  CHECK(points[2].peak_bytes == 100'000);
  // Proven later, under a smaller limit.
  found.add(505'000, found_search(500'000, 4));
  CHECK(found.under(505'000));
  CHECK_FALSE(found.under(510'000));
  found.add(1, {});
  CHECK(found.points().size() == 3);
  // Below the smallest limit nothing needs to be searched.
  found.set_smallest({90'000, 0, {}});
  CHECK_FALSE(found.under(95'000));
  REQUIRE(found.under(89'999));
  CHECK_FALSE(found.under(89'999)->best);
  CHECK(found.next_limit() == 90'000);
}

}  // namespace
}  // namespace headroom::gui
