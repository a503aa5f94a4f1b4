#include "decoder/graph/amounts.h"

#include <catch2/catch.hpp>

#include "tests/support/random.h"

namespace headroom {
namespace {

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

}  // namespace
}  // namespace headroom
