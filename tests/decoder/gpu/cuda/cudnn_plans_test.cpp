#include "decoder/gpu/cuda/cudnn_plans.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/gpu/cuda/library_calls/problem_text.h"
#include "decoder/gpu/cuda/plan_choice.h"
#include "tests/support/random.h"

namespace headroom::gpu {
namespace {

/// An H200's properties as cuDNN serialises them. With these cuDNN plans without a card.
const std::string kProperties = R"({
  "deviceName": "NVIDIA H200", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0, "pciDeviceId": 0,
  "multiProcessorCount": 132, "warpSize": 32, "totalGlobalMem": 150754820096, "l2CacheSize": 62914560,
  "smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "isTccDriver": 0, "supportCoopLaunch": 1,
  "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024,
  "maxThreadsPerSM": 2048, "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024})";

constexpr int64_t kMiB = int64_t{1} << 20;

/// A convolution of packed tiles; the input may have more columns than are read.
ConvolutionProblem problem(Dtype dtype, int32_t inputs, int32_t outputs, int32_t taps, int64_t rows,
                           int64_t columns, int64_t more_columns = 0) {
  ConvolutionProblem result;
  result.dtype = dtype;
  result.inputs = inputs;
  result.outputs = outputs;
  result.taps_y = result.taps_x = taps;
  result.rows = rows;
  result.columns = columns;
  result.input_row = (result.input_columns() + more_columns) * inputs;
  result.input_frame = result.input_rows() * result.input_row;
  result.output_row = columns * outputs;
  result.output_frame = rows * result.output_row;
  return result;
}

ConvolutionProblem over_time(ConvolutionProblem result, int32_t taps, int64_t frames) {
  result.taps_t = taps;
  result.frames = frames;
  return result;
}

TEST_CASE("16-bit convolutions of decoders run on tensor cores within little workspace") {
  CudnnPlans plans(kProperties);
  const Dtype dtype = GENERATE(Dtype::fp16, Dtype::bf16);
  const std::vector<ConvolutionProblem> problems{
      problem(dtype, 512, 512, 3, 128, 128),                   // SDXL's decoder at 1024×1024
      problem(dtype, 512, 512, 1, 128, 128),                   //
      problem(dtype, 512, 512, 2, 65, 129),                    // a phase over upsampling
      problem(dtype, 512, 256, 3, 64, 512),                    //
      problem(dtype, 256, 128, 3, 64, 1024),                   //
      problem(dtype, 128, 3, 3, 64, 1024),                     //
      over_time(problem(dtype, 384, 384, 3, 60, 104), 3, 20),  // Wan's
      over_time(problem(dtype, 96, 96, 3, 120, 208), 1, 8),    // frames as a batch
      problem(dtype, 512, 512, 3, 512, 512),
  };
  for (const ConvolutionProblem& each : problems) {
    CAPTURE(name_of(dtype), each.inputs, each.outputs, each.taps_y, each.rows, each.columns);
    const CudnnPlan* plan = plans.find(each, 4 * kMiB);
    REQUIRE(plan != nullptr);
    CHECK(plan->tensor_cores);
    CHECK_FALSE(plan->compiles);
    CHECK(plan->workspace_bytes <= 4 * kMiB);
    CHECK(plans.fit(each, 4 * kMiB) == ConvolutionEngine::Fit::good);
  }
}

std::vector<ConvolutionProblem> fp32_problems() {
  return {
      problem(Dtype::fp32, 4, 512, 3, 128, 128),   problem(Dtype::fp32, 512, 512, 3, 128, 128),
      problem(Dtype::fp32, 512, 512, 1, 128, 128), problem(Dtype::fp32, 512, 512, 2, 65, 129),
      problem(Dtype::fp32, 256, 128, 3, 64, 1024), over_time(problem(Dtype::fp32, 96, 96, 3, 60, 104), 3, 8)};
}

TEST_CASE("fp32 convolutions run without TF32, whatever the workspace") {
  CudnnPlans plans(kProperties);
  for (const ConvolutionProblem& each : fp32_problems()) {
    CAPTURE(each.inputs, each.outputs, each.taps_y);
    for (const int64_t workspace : {int64_t{0}, 16 * kMiB, 1024 * kMiB}) {
      const CudnnPlan* plan = plans.find(each, workspace);
      REQUIRE(plan != nullptr);
      CHECK_FALSE(plan->tensor_cores);
      CHECK_FALSE(plan->compiles);
      CHECK(plan->workspace_bytes <= workspace);
    }
  }
}

TEST_CASE("fp32 convolutions run on tensor cores within little workspace if TF32 is allowed") {
  CudnnPlans plans(kProperties);
  for (ConvolutionProblem each : fp32_problems()) {
    each.tf32 = true;
    CAPTURE(each.inputs, each.outputs, each.taps_y);
    const CudnnPlan* plan = plans.find(each, 4 * kMiB);
    REQUIRE(plan != nullptr);
    CHECK(plan->tensor_cores);
    CHECK_FALSE(plan->compiles);
    CHECK(plans.fit(each, 4 * kMiB) == ConvolutionEngine::Fit::good);
    each.tf32 = false;
    REQUIRE(plans.find(each, 4 * kMiB) != nullptr);
    CHECK_FALSE(plans.find(each, 4 * kMiB)->tensor_cores);
  }
}

TEST_CASE("a window of a wider tile is copied, so it fits well only where there is workspace for that") {
  CudnnPlans plans(kProperties);
  const ConvolutionProblem window = problem(Dtype::fp16, 128, 128, 3, 256, 1024, 2);
  CHECK(plans.fit(window, 128 * kMiB) == ConvolutionEngine::Fit::good);
  CHECK(plans.fit(window, 16 * kMiB) == ConvolutionEngine::Fit::poor);
  const ConvolutionProblem slice = problem(Dtype::fp16, 128, 128, 3, 32, 1024, 2);
  CHECK(plans.fit(slice, 16 * kMiB) == ConvolutionEngine::Fit::good);
}

TEST_CASE("a preferred engine runs if it is offered for the problem and fits the workspace") {
  CudnnPlans plans(kProperties);
  const ConvolutionProblem one = problem(Dtype::bf16, 256, 256, 3, 128, 512),
                           other = problem(Dtype::bf16, 256, 256, 3, 128, 513);
  const std::vector<CudnnPlan> usual = plans.usual_within(one, 32 * kMiB);
  std::set<std::string> texts;
  for (const CudnnPlan& plan : usual) {
    texts.insert(engine_text(plan));
    CHECK_FALSE(plan.compiles);
    CHECK(plan.workspace_bytes <= 32 * kMiB);
  }
  REQUIRE(usual.size() > 10);
  CHECK(texts.size() == usual.size());
  const auto chosen = [&](const ConvolutionProblem& each, int64_t workspace) {
    const CudnnPlan* plan = plans.find(each, workspace);
    CHECK(plans.fit(each, workspace) == ConvolutionEngine::Fit::good);
    return plan == nullptr ? "none" : engine_text(*plan) + (plan->by_time ? " by time" : "");
  };
  const std::string first = engine_text(usual.front()), first_of_other = chosen(other, 32 * kMiB);
  CHECK(chosen(one, 32 * kMiB) == first);
  for (const CudnnPlan& plan : usual) {
    plans.prefer({{text_of(one), engine_text(plan)}});
    CHECK(chosen(one, plan.workspace_bytes) == engine_text(plan) + " by time");
    CHECK(chosen(other, 32 * kMiB) == first_of_other);
    if (plan.workspace_bytes > 0) CHECK_FALSE(plans.find(one, plan.workspace_bytes - 1)->by_time);
  }
  plans.prefer({{text_of(one), "cuDNN 41 k2=1000"}});
  CHECK(chosen(one, 32 * kMiB) == first);
  plans.prefer({});
  CHECK(chosen(one, 32 * kMiB) == first);
}

/// An engine by name; what it tells of its workspace need not be so.
struct TestPlan : EngineOffer {
  char name = 0;
  int64_t takes = 0;
  bool refuses = false;
};

// Workspaces are in pages here: a few hundred bytes more than stated are not minded.
constexpr int64_t kPage = 4096;

TestPlan engine(char name, int64_t tells_pages) {
  TestPlan plan;
  plan.name = name;
  plan.workspace_bytes = plan.takes = tells_pages * kPage;
  return plan;
}
TestPlan growing(char name, int64_t tells_pages, int64_t takes_pages) {
  TestPlan plan = engine(name, tells_pages);
  plan.takes = takes_pages * kPage;
  return plan;
}
TestPlan refusing(char name, int64_t tells_pages) {
  TestPlan plan = engine(name, tells_pages);
  plan.refuses = true;
  return plan;
}
TestPlan compiling(TestPlan plan) {
  plan.compiles = true;
  return plan;
}

struct TestSource : PlanSource<TestPlan> {
  std::vector<TestPlan> usual, last_resorts;
  std::string asked;
  std::map<char, int> made;

  TestSource(std::vector<TestPlan> first, std::vector<TestPlan> last)
      : usual(std::move(first)), last_resorts(std::move(last)) {}
  std::vector<TestPlan> offers(bool last) override {
    asked += last ? 'l' : 'u';
    return last ? last_resorts : usual;
  }
  bool make(TestPlan& plan) override {
    ++made[plan.name];
    plan.workspace_bytes = plan.takes;
    return !plan.refuses;
  }
};

/// Its name; '-' where there is none.
char chosen(PlanChoice<TestPlan>& choice, TestSource& source, int64_t workspace_pages) {
  const TestPlan* plan = choice.find(workspace_pages * kPage, source);
  return plan == nullptr ? '-' : plan->name;
}

TEST_CASE("the first engine within a workspace is taken, last resorts where no other fits") {
  TestSource source({engine('a', 9), engine('b', 5), engine('c', 7), engine('d', 5)},
                    {engine('l', 5), engine('m', 1)});
  PlanChoice<TestPlan> choice;
  CHECK(chosen(choice, source, 100) == 'a');
  CHECK(chosen(choice, source, 8) == 'b');
  CHECK(source.asked == "u");
  CHECK(chosen(choice, source, 4) == 'm');
  CHECK(chosen(choice, source, 0) == '-');
  CHECK(chosen(choice, source, 0) == '-');
  CHECK(chosen(choice, source, 9) == 'a');
  CHECK(source.asked == "ul");
  CHECK(source.made == std::map<char, int>{{'a', 1}, {'b', 1}, {'m', 1}});
}

TEST_CASE("an engine may take a few bytes more workspace than it stated") {
  TestPlan grown = engine('a', 0);
  grown.takes = 131;
  TestSource source({grown, engine('b', 4)}, {engine('l', 0)});
  PlanChoice<TestPlan> choice;
  CHECK(chosen(choice, source, 5) == 'a');
  CHECK(source.asked == "u");
  CHECK(choice.best()->name == 'a');
  CHECK(chosen(choice, source, 0) == 'l');
}

TEST_CASE("engines that compile are taken where nothing else is there") {
  TestSource source({compiling(engine('a', 0)), engine('b', 4), compiling(engine('c', 0))}, {engine('l', 2)});
  PlanChoice<TestPlan> choice;
  CHECK(chosen(choice, source, 4) == 'b');
  CHECK(choice.best()->name == 'b');
  CHECK(chosen(choice, source, 2) == 'l');
  CHECK(source.made['a'] == 0);
  CHECK(chosen(choice, source, 1) == 'a');
  source.usual = {compiling(refusing('a', 0)), refusing('b', 4), compiling(engine('c', 0))};
  source.last_resorts.clear();
  PlanChoice<TestPlan> other;
  CHECK(chosen(other, source, 4) == 'c');
}

/// Looks at all of them, in order.
char plainly_chosen(const TestSource& source, int64_t workspace_pages) {
  for (const bool compiles : {false, true}) {
    for (const std::vector<TestPlan>& plans : {source.usual, source.last_resorts}) {
      for (const TestPlan& plan : plans) {
        const int64_t needed = std::max(plan.workspace_bytes, plan.takes);
        if (plan.compiles == compiles && !plan.refuses && needed <= workspace_pages * kPage) return plan.name;
      }
    }
  }
  return '-';
}

TEST_CASE("what is chosen does not depend on which engines were kept") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{300}));
  test::Random random(seed);
  const double odd = random.pick<double>({0, 0.1, 0.5});
  char name = 'a';
  const auto engines = [&](int64_t most) {
    std::vector<TestPlan> plans;
    for (int64_t count = random.integer(0, most); count > 0; --count) {
      const int64_t tells = random.integer(0, 9);
      plans.push_back(growing(name++, tells, random.chance(odd) ? tells + random.integer(0, 9) : tells));
      plans.back().refuses = random.chance(odd);
      plans.back().compiles = random.chance(0.3);
    }
    return plans;
  };
  TestSource source{engines(12), engines(4)};
  PlanChoice<TestPlan> choice;
  CAPTURE(seed);
  for (int i = 0; i < 12; ++i) {
    const int64_t workspace_pages = random.integer(-1, 18);
    CAPTURE(workspace_pages);
    CHECK(chosen(choice, source, workspace_pages) == plainly_chosen(source, workspace_pages));
  }
  for (const auto& [made, times] : source.made) CHECK(times == 1);
  CHECK(source.asked.size() <= 4);
}

TEST_CASE("plans are made once for each problem") {
  CudnnPlans plans(kProperties);
  const ConvolutionProblem one = problem(Dtype::fp16, 64, 64, 3, 32, 32);
  const CudnnPlan* plan = plans.find(one, 16 * kMiB);
  REQUIRE(plan != nullptr);
  CHECK(plans.find(one, 16 * kMiB) == plan);
  ConvolutionProblem other = one;
  other.rows = 33;
  CHECK(plans.find(other, 16 * kMiB) != plan);
}

TEST_CASE("what cuDNN refuses is reported by name, in one line") {
  try {
    CudnnPlans plans(std::string("{"));
    FAIL("taken");
  } catch (const DeviceError& error) {
    const std::string line = error.what();
    CHECK_THAT(line, Catch::Matchers::Contains("cudnn") && Catch::Matchers::Contains("CUDNN_STATUS"));
    CHECK(line.find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace headroom::gpu
