#include "reports/bench/place_buffers.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "tests/decoder/files/scratch.h"

namespace headroom::reports {
namespace {

struct Run {
  explicit Run(const std::vector<std::string>& args) : code(place_buffer_file(args, out, err)) {}
  std::ostringstream out, err;
  int code;
};

TEST_CASE("place_buffers: a file is placed where its buffers fill the capacity") {
  const test::Scratch scratch;
  const std::string file =
      scratch.write("b.csv", "id,lower,upper,size\n0,0,3,4\n1,3,9,4\n2,0,6,3\n3,6,9,3\n4,0,9,2\n");
  const Run run({file, "9"});
  CHECK(run.code == 0);
  CHECK_THAT(run.out.str(), Catch::StartsWith("9 bytes of 9, "));
  CHECK(Run({file, "8"}).code == 3);
  const Run help({"--help"});
  CHECK(help.code == 0);
  CHECK_THAT(help.out.str(), Catch::Contains("--visits"));
}

TEST_CASE("place_buffers: bad input is one line and exit code 2") {
  const test::Scratch scratch;
  const std::string header = "id,lower,upper,size\n";
  for (const std::string& text : {std::string("size\n"), header + "0,1,2\n", header + "0,1,2,3,4\n",
                                  header + "0,2,2,3\n", header + "0,1,2,0\n", header + "0,-1,2,3\n"}) {
    CAPTURE(text);
    const Run run({scratch.write("b.csv", text), "100"});
    CHECK(run.code == 2);
    const std::string said = run.err.str();
    CHECK(said.find('\n') == said.size() - 1);
  }
  CHECK(Run({(scratch / "none.csv").string(), "100"}).code == 2);
  CHECK(Run({"b.csv", "0"}).code == 2);
}

}  // namespace
}  // namespace headroom::reports
