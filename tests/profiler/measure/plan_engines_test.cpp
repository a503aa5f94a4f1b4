#include "profiler/measure/plan_engines.h"

#include <catch2/catch.hpp>

namespace headroom::profiler {
namespace {

TEST_CASE("newer choices of engines replace older ones for the same convolution") {
  std::vector<EngineChoice> all{{"one", "a", 1, "b", 2}, {"two", "c", 3, "c", 3}};
  add_engine_choices(all, {{"three", "d", 4, "e", 5}, {"one", "b", 1, "b", 1}});
  CHECK(all == std::vector<EngineChoice>{
                   {"one", "b", 1, "b", 1}, {"two", "c", 3, "c", 3}, {"three", "d", 4, "e", 5}});
  CHECK(faster_engines(all) == std::vector<EngineChoice>{{"three", "d", 4, "e", 5}});
}

}  // namespace
}  // namespace headroom::profiler
