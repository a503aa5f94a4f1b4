#include "decoder/trace/trace_builder.h"

#include <catch2/catch.hpp>
#include <vector>

namespace headroom {
namespace {

TEST_CASE("trace builder: what is moved has a place for each of its addresses, and its bytes stay") {
  std::vector<char> memory(1000);
  const auto at = [&](int64_t offset) { return memory.data() + offset; };
  TraceBuilder builder;
  builder.pass_started(0, 0);
  const auto add = [&](double seconds, int64_t offset, int64_t bytes, int32_t layer) {
    builder.allocated(seconds, at(offset), bytes, MemoryKind::kept, TensorId{layer});
    builder.placed(seconds, at(offset));
  };
  add(0.1, 0, 100, 1);
  add(0.2, 100, 200, 2);
  builder.pass_started(0.5, 1);
  builder.moved(0.5, at(100), at(300));
  builder.moved(0.5, at(0), at(100));
  builder.moved(0.6, at(700), at(800));  // nothing that is known lies there
  builder.freed(0.8, at(100));
  const Trace trace = builder.finish(1);
  REQUIRE(trace.places.size() == 4);
  const auto check = [&](size_t i, double begin, double end, int64_t offset, int64_t bytes, int32_t layer) {
    CAPTURE(i);
    CHECK(trace.places[i].begin_seconds == begin);
    CHECK(trace.places[i].end_seconds == end);
    CHECK(trace.places[i].offset == offset);
    CHECK(trace.places[i].bytes == bytes);
    CHECK(trace.places[i].layer == TensorId{layer});
    CHECK(trace.places[i].kind == MemoryKind::kept);
  };
  check(0, 0.1, 0.5, 0, 100, 1);
  check(1, 0.2, 0.5, 100, 200, 2);
  check(2, 0.5, 1, 300, 200, 2);
  check(3, 0.5, 0.8, 100, 100, 1);
  CHECK(trace.places[2].pass == 1);
  CHECK(trace.events.size() == 3);
}

}  // namespace
}  // namespace headroom
