#include <catch2/catch.hpp>

#include "reports/figures/chart.h"

namespace headroom::reports {
namespace {

constexpr double kMiB = 1048576;

std::vector<std::string> labels_of(const std::vector<Tick>& ticks) {
  std::vector<std::string> labels;
  for (const Tick& tick : ticks) labels.push_back(tick.label);
  return labels;
}

TEST_CASE("ticks: of bytes are powers of 1024") {
  CHECK(labels_of(ticks(Unit::bytes, {0, 1100 * kMiB}, false, 6)) ==
        std::vector<std::string>{"0", "256 MiB", "512 MiB", "768 MiB", "1 GiB"});
  CHECK(labels_of(ticks(Unit::bytes, {0, 1400 * 1024}, false, 3)) ==
        std::vector<std::string>{"0", "512 KiB", "1 MiB"});
  CHECK(labels_of(ticks(Unit::bytes, {200 * kMiB, 5000 * kMiB}, true, 6)) ==
        std::vector<std::string>{"256 MiB", "512 MiB", "1 GiB", "2 GiB", "4 GiB"});
  const std::vector<Tick> wide = ticks(Unit::bytes, {1024, 1e15}, true, 6);
  CHECK(wide.size() <= 6);
  CHECK(labels_of(wide).at(1) == "1 MiB");
}

TEST_CASE("ticks: of pixels on a logarithmic axis are squares") {
  CHECK(labels_of(ticks(Unit::pixels, {6e4, 2e7}, true, 8)) ==
        std::vector<std::string>{"256×256", "512×512", "1024×1024", "2048×2048", "4096×4096"});
  CHECK(labels_of(ticks(Unit::pixels, {6e4, 2e7}, true, 3)) ==
        std::vector<std::string>{"256×256", "1024×1024", "4096×4096"});
  CHECK(ticks(Unit::pixels, {1e4, 2e4}, true, 6).size() >= 2);  // too little for two squares
}

TEST_CASE("ticks: neighbours never read alike, however near") {
  for (const auto& [begin, end] : {std::pair(12.345, 12.346), std::pair(0.0, 30.0), std::pair(0.01, 0.0101),
                                   std::pair(1e6, 1e6 + 1e-3)}) {
    for (const Unit unit : {Unit::seconds, Unit::bytes, Unit::none, Unit::flops}) {
      const double scale = unit == Unit::bytes || unit == Unit::flops ? 1e9 : 1;
      const std::vector<std::string> texts = labels_of(ticks(unit, {begin * scale, end * scale}, false, 6));
      CAPTURE(begin, end, int(unit), texts);
      REQUIRE(texts.size() >= 3);
      for (size_t i = 1; i < texts.size(); ++i) CHECK(texts[i] != texts[i - 1]);
    }
  }
}

TEST_CASE("ticks: all others are round decimals in one unit for the axis") {
  CHECK(labels_of(ticks(Unit::seconds, {0, 1.1}, false, 6)) ==
        std::vector<std::string>{"0", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1 s"});
  CHECK(labels_of(ticks(Unit::seconds, {0, 0.03}, false, 4)) ==
        std::vector<std::string>{"0", "10 ms", "20 ms", "30 ms"});
  CHECK(labels_of(ticks(Unit::pixels, {0, 3.5e6}, false, 4)) ==
        std::vector<std::string>{"0", "1 MP", "2 MP", "3 MP"});
  CHECK(labels_of(ticks(Unit::share, {0, 1}, false, 5)) ==
        std::vector<std::string>{"0", "20 %", "40 %", "60 %", "80 %", "100 %"});
  // Within one decade of a logarithmic axis there are ticks too.
  CHECK(ticks(Unit::seconds, {11, 14}, true, 6).size() >= 3);
  // Whatever the range, few and within it.
  for (const Range range : {Range{0, 1e-300}, Range{-5, 3}, Range{1e17, 1e17 + 64}, Range{1e-9, 1e18}}) {
    for (const bool logarithmic : {false, true}) {
      if (logarithmic && range.least <= 0) continue;
      for (const Unit unit : {Unit::bytes, Unit::seconds, Unit::none}) {
        const std::vector<Tick> found = ticks(unit, range, logarithmic, 6);
        CHECK(found.size() <= 14);
        for (const Tick& tick : found)
          CHECK((tick.at >= range.least * 0.999 - 1e-9 && tick.at <= range.most * 1.001));
      }
    }
  }
}

}  // namespace
}  // namespace headroom::reports
