#include "reports/figures/table.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/support/random.h"

namespace headroom::reports {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNotANumber = std::nan("");

TEST_CASE("figures as text for people") {
  CHECK(format(Unit::bytes, 0) == "0 B");
  CHECK(format(Unit::bytes, 1536) == "1.5 KiB");
  CHECK(format(Unit::bytes, 313.0 * 1024 * 1024) == "313.0 MiB");
  CHECK(format(Unit::bytes, -313.0 * 1024 * 1024) == "-313.0 MiB");
  CHECK(format(Unit::bytes, 2.5 * 1024 * 1024 * 1024) == "2.50 GiB");
  CHECK_FALSE(format(Unit::bytes, 1e300).empty());
  CHECK(format(Unit::seconds, 0) == "0 s");
  CHECK(format(Unit::seconds, 0.0123) == "12.3 ms");
  CHECK(format(Unit::seconds, 31.25) == "31.25 s");
  CHECK(format(Unit::seconds, -0.5) == "-500.0 ms");
  CHECK(format(Unit::flops, 12.3e9) == "12.3 GFLOP");
  CHECK(format(Unit::flops, 999.96e9) == "1.0 TFLOP");
  CHECK(format(Unit::flops, 12) == "12 FLOP");
  CHECK(format(Unit::pixels, 4'194'304) == "4.2 MP");
  CHECK(format(Unit::pixels, 512) == "512 pixels");
  CHECK(format(Unit::ratio, 0.38) == "0.38×");
  CHECK(format(Unit::ratio, 12.34) == "12.3×");
  CHECK(format(Unit::ratio, 1234) == "1234×");
  CHECK(format(Unit::share, 0.12) == "12 %");
  CHECK(format(Unit::share, 0.004) == "0.4 %");
  CHECK(format(Unit::bytes_per_second, 2.5 * 1024 * 1024 * 1024) == "2.50 GiB/s");
  CHECK(csv_name("rate", Unit::bytes_per_second) == "rate_bytes_per_second");
  CHECK(format(Unit::share, 0) == "0 %");
  CHECK(format(Unit::share, 1) == "100 %");
  CHECK(format(Unit::none, 1'234'567) == "1234567");
  CHECK(format(Unit::none, -3) == "-3");
  CHECK(format(Unit::none, 0.25) == "0.25");
  for (Unit unit :
       {Unit::none, Unit::bytes, Unit::seconds, Unit::flops, Unit::pixels, Unit::ratio, Unit::share}) {
    CHECK(format(unit, kInfinity).empty());
    CHECK(format(unit, -kInfinity).empty());
    CHECK(format(unit, kNotANumber).empty());
  }
}

TEST_CASE("headings of CSV columns end in their unit") {
  CHECK(csv_name("peak", Unit::bytes) == "peak_bytes");
  CHECK(csv_name("Predicted peak", Unit::bytes) == "predicted_peak_bytes");
  CHECK(csv_name("time", Unit::seconds) == "time_seconds");
  CHECK(csv_name("work", Unit::flops) == "work_flops");
  CHECK(csv_name("size", Unit::pixels) == "size_pixels");
  CHECK(csv_name("name", Unit::none) == "name");
  CHECK(csv_name("ratio", Unit::ratio) == "ratio");
  CHECK(csv_name("time ratio", Unit::ratio) == "time_ratio");
  CHECK(csv_name("512×512 workspace", Unit::bytes) == "512x512_workspace_bytes");
  CHECK(csv_name("=measured / predicted (%)", Unit::none) == "measured_predicted");
  CHECK(csv_name("größe", Unit::bytes) == "größe_bytes");
  CHECK(csv_name("", Unit::bytes) == "bytes");
}

TEST_CASE("cells as text: a text, a number with its unit, or nothing") {
  const Column bytes{.title = "peak", .unit = Unit::bytes};
  CHECK(cell_text(bytes, Cell{}).empty());
  CHECK(cell_text(bytes, Cell{1048576.0}) == "1.0 MiB");
  CHECK(cell_text(bytes, Cell{kNotANumber}).empty());
  CHECK(cell_text(bytes, Cell{std::string("=none")}) == "=none");
}

Table sample() {
  Table table;
  table.title = "passes";
  table.columns = {{.title = "name", .is_text = true},
                   {.title = "peak", .unit = Unit::bytes},
                   {.title = "time", .unit = Unit::seconds, .group = "512×512"}};
  return table;
}

TEST_CASE("CSV: RFC 4180, whole numbers whole, nothing where a number is none") {
  Table table = sample();
  table.rows = {{{std::string("plain"), 2'000'000.0, 0.25}, false},
                {{std::string("a, \"b\"\nc"), 1152921504606846976.0, 1.0 / 3}, true},
                {{std::string(), kNotANumber, -kInfinity}, false},
                {{Cell{}, Cell{}, -1e-7}, false}};
  CHECK(to_csv(table) ==
        "name,peak_bytes,512x512_time_seconds\r\n"
        "plain,2000000,0.25\r\n"
        "\"a, \"\"b\"\"\nc\",1152921504606846976,0.3333333333333333\r\n"
        ",,\r\n"
        ",,-1e-07\r\n");
  CHECK(to_csv(Table{}) == "\r\n");
}

TEST_CASE("CSV: no text is a formula to a spreadsheet") {
  Table table = sample();
  for (const char* text : {"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "=HYPERLINK(\"x\",\"y\")", "a=1"})
    table.rows.push_back({{std::string(text), -5.0, 0.0}, false});
  const std::string csv = to_csv(table);
  CHECK(csv.find("\r\n'=1+1,-5,0\r\n") != std::string::npos);
  CHECK(csv.find("\r\n'+1,") != std::string::npos);
  CHECK(csv.find("\r\n'-1,") != std::string::npos);
  CHECK(csv.find("\r\n'@SUM(A1),") != std::string::npos);
  CHECK(csv.find("\r\n'\t=1,") != std::string::npos);
  CHECK(csv.find("\r\n\"'\r=1\",") != std::string::npos);
  CHECK(csv.find("\r\n\"'=HYPERLINK(\"\"x\"\",\"\"y\"\")\",") != std::string::npos);
  CHECK(csv.find("\r\na=1,") != std::string::npos);
}

TEST_CASE("CSV: numbers are read back as they were") {
  test::Random random(7);
  for (int i = 0; i < 1000; ++i) {
    const double fraction = random.uniform(-1, 1);
    const double value = std::ldexp(fraction, static_cast<int>(random.integer(-80, 80)));
    Table table;
    table.columns = {{.title = "x"}};
    table.rows = {{{value}, false}};
    const std::string csv = to_csv(table);
    CAPTURE(csv);
    REQUIRE(std::stod(csv.substr(3)) == value);
  }
}

TEST_CASE("bars are drawn against the largest number of their column") {
  Table table = sample();
  CHECK(largest_numbers(table) == std::vector<double>{0, 0, 0});
  table.rows = {{{std::string("a"), 5.0, -1.0}, false},
                {{std::string("b"), 7.0, kInfinity}, false},
                {{std::string("c"), kNotANumber, -3.0}, false}};
  CHECK(largest_numbers(table) == std::vector<double>{0, 7, 0});
}

}  // namespace
}  // namespace headroom::reports
