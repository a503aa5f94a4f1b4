#include "reports/figures/scaling.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "decoder/families/load_model.h"
#include "decoder/graph/geometry.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/schedule/storage.h"
#include "planner/explain/peak.h"
#include "planner/explain/why_not.h"
#include "planner/search/make_plan.h"
#include "tests/reports/figures/printed_figures.h"
#include "tests/reports/figures/sample_documents.h"

namespace headroom::reports {
namespace {

Request request_of(int64_t width, int64_t height) {
  return {"small", width, height, 1, 1, Dtype::fp32};
}

const auto always = [] { return true; };

TEST_CASE("scaling: the ladder keeps the shape and hits the powers of two") {
  const Model sdxl = resolve_model("sdxl");
  struct Case {
    int64_t width, height, most;
  };
  const auto asked =
      GENERATE(Case{1024, 1024, 8192}, Case{1024, 768, 8192}, Case{744, 1000, 3000}, Case{64, 4096, 2048});
  CAPTURE(asked.width, asked.height);
  Request request = request_of(asked.width, asked.height);
  request.batch = 3;
  const std::vector<Request> sizes = size_ladder(sdxl, request, asked.most);
  REQUIRE(sizes.size() >= 2);
  std::set<int64_t> across;
  int64_t before = 0;
  for (const Request& size : sizes) {
    CAPTURE(size.width_pixels, size.height_pixels);
    CHECK_NOTHROW(latent_extent(sdxl, size.width_pixels, size.height_pixels, 1));
    CHECK(size.batch == 3);
    const int64_t longer = std::max(size.width_pixels, size.height_pixels);
    CHECK(longer <= asked.most);
    if (before > 0) CHECK(double(longer) / double(before) == Approx(1.42).margin(0.09));
    before = longer;
    across.insert(longer);
    // Not more than one position of the latent off the shape.
    const double exact = double(size.width_pixels) * double(asked.height) / double(asked.width);
    CHECK(std::abs(exact - double(size.height_pixels)) <
          8.0 * std::max(1.0, double(asked.height) / double(asked.width)));
  }
  for (int64_t power = 256; power <= asked.most; power *= 2) CHECK(across.contains(power));
  CHECK(before > asked.most / 3 * 2);
}

TEST_CASE("scaling: nothing is below 256 pixels across") {
  CHECK(size_ladder(test::small_decoder(), request_of(64, 64), 255).empty());
  CHECK(size_ladder(test::small_decoder(), request_of(64, 64), 256).size() == 1);
}

TEST_CASE("scaling: the planned limit is the smallest there is, and untiled is what it says") {
  const Model model = test::small_decoder();
  const planner::CostModel costs(model.graph);
  planner::PlanOptions options{.limit_bytes = int64_t{20} << 20};
  int64_t most_pixels_across = 768;
  if (GENERATE(false, true)) {
    most_pixels_across = 256;  // many more plans to search
    options.weights = WeightResidency::resident;
    options.scratch_limit_bytes = test::kAmple;
    options.scratch_folder = "/";
  }
  const std::vector<Request> sizes = size_ladder(model, request_of(300, 200), most_pixels_across);
  const Scaling found = scaling(model, sizes, options, costs, always);
  CHECK(found.limit_bytes == options.limit_bytes);
  REQUIRE(found.planned.size() == sizes.size());
  REQUIRE(found.untiled.size() == sizes.size());
  int64_t weights = 0;
  for (const Op& op : model.graph.ops())
    weights += weights_bytes(model.graph, op, ConvolutionAlgorithm::direct, {});
  for (size_t i = 0; i < sizes.size(); ++i) {
    CAPTURE(i);
    CHECK(found.planned[i].pixels() == sizes[i].width_pixels * sizes[i].height_pixels);
    planner::PlanOptions at = options;
    at.limit_bytes = found.planned[i].bytes;
    CHECK(planner::make_plan({model, sizes[i], at, costs}).value().predicted_peak_bytes == at.limit_bytes);
    --at.limit_bytes;
    CHECK_FALSE(planner::make_plan({model, sizes[i], at, costs}));
    // diffusers' decode holds at one time what a convolution reads and makes, both of the largest kind, and
    // copies of both.
    const Extent latent = latent_extent(model, sizes[i].width_pixels, sizes[i].height_pixels, 1);
    int64_t largest = 0;
    for (const Tensor& tensor : model.graph.tensors())
      largest = std::max(largest, tensor.statistics ? 0 : bytes_of(tensor, latent, 1, Dtype::fp32));
    CHECK(found.untiled[i].bytes >= weights + 2 * largest);
    CHECK(found.untiled[i].bytes <= weights + 6 * largest);
    CHECK(found.untiled[i].bytes == planner::untiled_peak(model, sizes[i], costs).bytes);
    CHECK(found.planned[i].bytes < found.untiled[i].bytes);
  }
}

TEST_CASE("scaling: it stops where it is told to") {
  const Model model = test::small_decoder();
  const std::vector<Request> sizes = size_ladder(model, request_of(256, 256), 1024);
  int asked = 0;
  const Scaling found =
      scaling(model, sizes, {}, planner::CostModel(model.graph), [&] { return ++asked <= 2; });
  CHECK(found.planned.size() == 2);
  CHECK(found.untiled.size() == 2);
  CHECK(asked == 3);
}

TEST_CASE("scaling: measured peaks are those of the same decoder, runs those of plans that are there") {
  const Model model = test::small_decoder();
  const planner::CostModel costs(model.graph);
  Scaling found = scaling(model, {request_of(256, 256)}, {}, costs, always);

  const PlanDocument plan = test::planned(model, request_of(128, 96), test::kAmple, costs);
  RunStats run = test::run_as_predicted(plan.plan);
  run.peak_bytes = 12'345;
  RunStats elsewhere = run;  // of a plan that nobody gave
  elsewhere.limit_bytes += 1;
  Request bf16 = request_of(128, 96);
  bf16.dtype = Dtype::bf16;
  const PlanDocument other_dtype = test::planned(model, bf16, test::kAmple - 1, costs);
  const RunStats other_run = test::run_as_predicted(other_dtype.plan);

  profiler::Profile profile;
  profile.weights_bytes = resident_weights_bytes(model.graph, {});
  for (const Op& op : model.graph.ops()) profile.layers.push_back({op.name, name_of(op.kind), {}});
  profile.sizes = {
      {512, 256, 1, 1, 700, 1, {}, {}}, {64, 64, 1, 1, 600, 1, {}, {}}, {64, 32, 1, 4, 500, 1, {}, {}}};
  profiler::Profile other_model = profile;
  other_model.weights_bytes += 64;
  other_model.sizes[0].peak_bytes = 999;

  const std::vector<DocumentPtr> documents{
      test::document_of(run, "run.json"),          test::document_of(elsewhere, "elsewhere.json"),
      test::document_of(other_run, "bf16.json"),   test::document_of(other_dtype, "bf16-plan.json"),
      test::document_of(plan, "plan.json"),        test::document_of(profile, "profile.json"),
      test::document_of(other_model, "other.json")};
  add_measured(found, documents);
  REQUIRE(found.measured.size() == 1);
  CHECK(found.measured[0].bytes == 12'345);
  CHECK(found.measured[0].width_pixels == 128);
  CHECK(found.measured[0].height_pixels == 96);
  REQUIRE(found.measured_untiled.size() == 2);  // in the order of their pixels, one picture at a time
  CHECK(found.measured_untiled[0].bytes == 600);
  CHECK(found.measured_untiled[1].bytes == 700);
  CHECK(scaling_chart(found).series.size() == 4);

  Scaling any;
  add_measured(any, documents);
  CHECK(any.measured.size() == 2);
  CHECK(any.measured_untiled.size() == 6);
}

TEST_CASE("scaling: the largest size within a limit, straight in logarithms") {
  const std::vector<ScalingPoint> series{{10, 10, 1'000}, {20, 20, 4'000}, {40, 40, 64'000}};
  CHECK(largest_pixels_within(series, 999) == -1);
  CHECK(largest_pixels_within(series, 1'000) == Approx(100));
  CHECK(largest_pixels_within(series, 2'000) == Approx(200));   // bytes grow as pixels do
  CHECK(largest_pixels_within(series, 16'000) == Approx(800));  // bytes grow as their square
  CHECK(largest_pixels_within(series, 64'000) == 1'600);
  CHECK(largest_pixels_within(series, 1'000'000) == 1'600);
  CHECK(largest_pixels_within({}, 1'000) == -1);
}

TEST_CASE("scaling: the chart has the limit and where each series meets it") {
  Scaling scaling;
  scaling.limit_bytes = 2'000;
  scaling.untiled = {{10, 10, 1'000}, {20, 20, 4'000}};
  scaling.planned = {{10, 10, 500}, {20, 20, 700}};
  const Chart chart = scaling_chart(scaling);
  test::check_expected("figures/scaling.txt", test::printed(chart));

  scaling.limit_bytes = 600;  // too small for the one, and for the larger size of the other
  REQUIRE(scaling_chart(scaling).notes.size() == 1);
  CHECK(scaling_chart(scaling).notes[0].x > 100);
  CHECK(scaling_chart(scaling).notes[0].x < 400);
  scaling.limit_bytes = 0;
  CHECK(scaling_chart(scaling).guides.empty());
  CHECK(scaling_chart(scaling).notes.empty());
  scaling.limit_bytes = std::numeric_limits<int64_t>::max();
  CHECK(scaling_chart(scaling).guides.empty());
}

}  // namespace
}  // namespace headroom::reports
