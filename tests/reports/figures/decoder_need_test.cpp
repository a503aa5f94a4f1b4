#include "reports/figures/decoder_need.h"

#include <catch2/catch.hpp>

#include "decoder/families/load_model.h"
#include "decoder/graph/model.h"
#include "reports/figures/document.h"

namespace headroom::reports {
namespace {

TEST_CASE("decoder need: limits from the fastest plan to the smallest, and what fits stands out") {
  const Model model = resolve_model(HEADROOM_TEST_DATA "/demo_model");
  const Request request{"demo", 256, 192, 1, 1, Dtype::fp32, DeviceKind::cpu};
  const DecoderNeed need = decoder_need(model, request, {}, planner::CostModel(model.graph));
  REQUIRE(need.points.size() >= 3);
  CHECK(need.points.back().peak_bytes == need.smallest_bytes);
  CHECK(need.untiled_bytes > need.smallest_bytes);
  const Table none = need_table(need, std::nullopt);
  CHECK(none.rows.size() == need.points.size() + 1);
  for (const Row& row : none.rows) CHECK_FALSE(row.stands_out);
  const Table within = need_table(need, need.points[1].peak_bytes);
  CHECK_FALSE(within.rows[1].stands_out);
  CHECK(within.rows[2].stands_out);
  profiler::DeviceHistory device;
  device.device = "cuda:1";
  device.allocated_bytes = {0};
  device.reserved_bytes = {0};
  CHECK(need_sentences(need, {}, device, std::nullopt).size() == 1);
  device.refusals.push_back({.moment = 0, .free_bytes = need.points[1].peak_bytes});
  CHECK_THAT(need_sentences(need, {}, device, std::nullopt)[1], Catch::Contains("it takes"));
  device.refusals.back().free_bytes = need.smallest_bytes - 1;
  CHECK_THAT(need_sentences(need, {}, device, std::nullopt)[1],
             Catch::StartsWith("That is more than the") && Catch::Contains("on cuda:1 when it ran out"));
  // With a limit in the question, the sentence names the limit instead of the recording.
  for (const int64_t bytes : {need.points[1].peak_bytes, need.smallest_bytes - 1}) {
    const std::string asked = need_sentences(need, {}, device, bytes)[1];
    CHECK_THAT(asked, Catch::Contains("the limit of ") && !Catch::Contains("ran out"));
  }
}

TEST_CASE("decoder need: says what a recording lacks, and that it is of another class") {
  const Model model = resolve_model(HEADROOM_TEST_DATA "/demo_model");
  const Request request{"demo", 256, 192, 1, 1, Dtype::fp32, DeviceKind::cpu};
  DecoderNeed need = decoder_need(model, request, {}, planner::CostModel(model.graph));
  const DocumentPtr file = read_document(HEADROOM_TEST_DATA "/memory_histories/sdxl-384x256.pickle");
  const auto& history = *file->as<profiler::MemoryHistory>();
  const profiler::DeviceHistory& device = history.devices[0];
  const auto said = [&] {
    std::string lines;
    for (const std::string& sentence : need_sentences(need, history.stacks, device, std::nullopt))
      lines += sentence + "\n";
    return lines;
  };
  const int64_t beside = profiler::bytes_beside_decode(history.stacks, device);
  need.weights_bytes = beside + 1;
  CHECK_THAT(said(), Catch::Contains("The recording does not contain them."));
  need.weights_bytes = beside;
  CHECK_THAT(said(), !Catch::Contains("does not contain"));
  CHECK(class_mismatch(need, history.stacks, device).empty());
  need.class_name = "AutoencoderKLWan";
  CHECK_THAT(said(),
             Catch::Contains("The recording is of AutoencoderKL, and demo is of class AutoencoderKLWan"));
}

}  // namespace
}  // namespace headroom::reports
