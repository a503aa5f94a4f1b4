#include "reports/figures/same_decode.h"

#include <catch2/catch.hpp>
#include <functional>

namespace headroom::reports {
namespace {

DecodeIdentity of_sdxl() {
  return {{"sdxl", 1024, 768, 1, 2, Dtype::fp32}, int64_t{1} << 30, {"conv_in", "mid", "conv_out"}};
}

TEST_CASE("same decode: whatever both tell and tell differently makes them two") {
  const DecodeIdentity plan = of_sdxl();
  CHECK(of_one_decode(plan, of_sdxl()));
  const std::vector<std::pair<const char*, std::function<void(DecodeIdentity&)>>> changes{
      {"model", [](DecodeIdentity& run) { run.request.model = "sd15"; }},
      {"width", [](DecodeIdentity& run) { run.request.width_pixels = 512; }},
      {"height", [](DecodeIdentity& run) { run.request.height_pixels = 512; }},
      {"frames", [](DecodeIdentity& run) { run.request.frames = 9; }},
      {"batch", [](DecodeIdentity& run) { run.request.batch = 1; }},
      {"dtype", [](DecodeIdentity& run) { run.request.dtype = Dtype::bf16; }},
      {"device", [](DecodeIdentity& run) { run.request.device = DeviceKind::cuda; }},
      {"limit", [](DecodeIdentity& run) { run.limit_bytes -= 1; }},
      {"a pass", [](DecodeIdentity& run) { run.passes[1] = "up0"; }},
      {"passes", [](DecodeIdentity& run) { run.passes.pop_back(); }}};
  for (const auto& [what, change] : changes) {
    CAPTURE(what);
    DecodeIdentity run = of_sdxl();
    change(run);
    CHECK_FALSE(of_one_decode(plan, run));
    CHECK_FALSE(of_one_decode(run, plan));
  }
}

TEST_CASE("same decode: what one does not tell is no contradiction") {
  const DecodeIdentity plan = of_sdxl();
  // A folder may be named from elsewhere, with a slash or without.
  for (const char* model : {"models/sdxl", "/data/sdxl/", "sdxl"}) {
    CAPTURE(model);
    DecodeIdentity run = of_sdxl();
    run.request.model = model;
    CHECK(of_one_decode(plan, run));
  }
  // A pass that nothing was recorded of.
  DecodeIdentity cut = of_sdxl();
  cut.passes[2].clear();
  CHECK(of_one_decode(plan, cut));
}

TEST_CASE("same decode: in words") {
  CHECK(text_of(of_sdxl()) == "sdxl 1024x768 fp32, batch 2, limit 1024.0 MiB, 3 passes");
}

}  // namespace
}  // namespace headroom::reports
