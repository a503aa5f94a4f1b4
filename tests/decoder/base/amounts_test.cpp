#include "decoder/base/amounts.h"

#include <catch2/catch.hpp>

#include "tests/decoder/files/scratch.h"
#include "tests/support/random.h"

namespace headroom {
namespace {

using test::require_input_error;

TEST_CASE("a limit as it is told, typed again, is enough for what it is told of, and hardly more") {
  test::Random random(7);
  for (int i = 0; i < 1000; ++i) {
    const int64_t bytes = int64_t{1} << random.integer(4, 40);
    const int64_t needed = bytes + random.integer(0, bytes);
    const std::string text = format_limit(needed);
    CAPTURE(needed, text);
    CHECK(parse_bytes(text, "--limit") >= needed);
    CHECK(double(parse_bytes(text, "--limit")) <= double(needed) * 1.1 + 103);
  }
  CHECK(format_limit(int64_t{53} << 20) == "53.0 MiB");
  CHECK(format_limit((int64_t{53} << 20) + 1) == "53.1 MiB");
}

TEST_CASE("units of bytes are taken in any case") {
  for (const char* text : {"2gb", "2GB", "2Gb", "2 gb"}) CHECK(parse_bytes(text, "--limit") == 2'000'000'000);
  for (const char* text : {"2gib", "2GiB", "2GIB", "2g", "2G"})
    CHECK(parse_bytes(text, "--limit") == int64_t{2} << 30);
  CHECK(parse_bytes("2mb", "--limit") == 2'000'000);
  CHECK(parse_bytes("512mib", "--limit") == int64_t{512} << 20);
}

TEST_CASE("shares") {
  CHECK(parse_share("5%", "--thrift") == 0.05);
  CHECK(parse_share("0.5%", "--thrift") == 0.005);
  CHECK(parse_share("0", "--thrift") == 0);
  CHECK(parse_share("0%", "--thrift") == 0);
  for (const char* text : {"5", "", "%", "5%%", "5 %", "-1%", "101%", "nan%", "five%", "5%x"}) {
    CAPTURE(text);
    require_input_error(
        [&] { parse_share(text, "--thrift"); },
        {"--thrift: expected a share from 0 to 100% such as 5%, found '" + std::string(text) + "'"});
  }
}

TEST_CASE("a number that lacks its unit is not taken for so few bytes") {
  const auto refuses = [](const std::string& text, const std::string& meant) {
    require_input_error([&] { parse_bytes(text, "--limit"); },
                        {"--limit " + text + " is " + text + " bytes. Did you mean " + meant + "?"});
  };
  refuses("2", "2GiB");
  refuses("1.5", "1.5GiB");
  refuses("512", "512GiB");
  CHECK(parse_bytes("0", "--limit") == 0);
  CHECK(parse_bytes("1", "--limit") == 1);
  CHECK(parse_bytes("2B", "--limit") == 2);
  CHECK(parse_bytes("1000000", "--limit") == 1'000'000);
}

TEST_CASE("long times are in hours, days and years") {
  CHECK(format_seconds(167.41) == "167.41 s");
  CHECK(format_seconds(3 * 3600) == "3.0 hours");
  CHECK(format_seconds(46265391.45) == "535 days");
  CHECK(format_seconds(1e9) == "32 years");
}

}  // namespace
}  // namespace headroom
