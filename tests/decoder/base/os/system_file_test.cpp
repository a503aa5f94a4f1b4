#include "decoder/base/os/system_file.h"

#include <catch2/catch.hpp>

#include "tests/decoder/files/scratch.h"
#include "tests/support/no_descriptors.h"

namespace headroom {
namespace {

TEST_CASE("system files are read whole, whatever size they say they have") {
  const test::Scratch scratch;
  const std::string text(10000, 'x');
  CHECK(text_of_system_file(scratch.write("long", text)) == text);
  CHECK(text_of_system_file(scratch.write("empty", "")) == "");
  CHECK(text_of_system_file("/proc/self/status").value_or("").starts_with("Name:"));
  CHECK_FALSE(text_of_system_file(scratch / "none"));
  CHECK_FALSE(text_of_system_file(scratch.folder()));  // a folder
}

TEST_CASE("a system file that there is no descriptor for is not taken for none") {
  CHECK(test::throws_without_descriptors<DeviceError>([] { text_of_system_file("/proc/self/status"); }));
}

}  // namespace
}  // namespace headroom
