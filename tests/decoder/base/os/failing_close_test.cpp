#include <catch2/catch.hpp>

#include "decoder/base/errors.h"
#include "decoder/base/os/partial_file.h"
#include "tests/decoder/files/open_descriptor.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

TEST_CASE("outputs: a file whose close fails does not replace the one that was there") {
  const test::Scratch scratch;
  scratch.write("a", "before");
  {
    PartialFile file(scratch / "a");
    file.write_at(0, "after", 5);
    REQUIRE(close(test::open_descriptor_of(scratch / "a.partial-")) == 0);
    CHECK_THROWS_AS(file.commit(), DeviceError);
  }
  CHECK(test::read_bytes(scratch / "a") == "before");
  CHECK(scratch.files() == std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace headroom
