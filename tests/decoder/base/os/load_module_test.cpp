#include "decoder/base/os/load_module.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "decoder/base/errors.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

TEST_CASE("modules lie in lib beside the program's folder, or beside the program") {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const std::vector<fs::path> places = module_places("some.so");
  REQUIRE(places.size() == 3);
  CHECK(places[0] == program.parent_path().parent_path() / "lib/some.so");
  CHECK(places[1] == program.parent_path().parent_path() / "lib/headroom/some.so");
  CHECK(places[2] == program.parent_path() / "some.so");
}

TEST_CASE("the first module that exists is taken, and its absence is said") {
  CHECK(present_module({"/nowhere/a.so", "/proc/self/exe"}, "A") == "/proc/self/exe");
  CHECK_THROWS_WITH(present_module({"/nowhere/a.so"}, "A"),
                    "built without A: there is no a.so beside the program");
}

TEST_CASE("what cannot be loaded, or lacks the entry, is named in one line") {
  const fs::path file = fs::temp_directory_path() / "headroom-load-module-test.so";
  std::ofstream(file) << "no module";
  CHECK_THROWS_WITH(module_entry(file, "entry"), Contains(file.string()) && Contains("too short"));
  CHECK_THROWS_AS(module_entry(file, "entry"), DeviceError);
  fs::remove(file);
  CHECK_THROWS_WITH(module_entry("libm.so.6", "no_such_entry"), Contains("no_such_entry") && !Contains("\n"));
}

}  // namespace
}  // namespace headroom
