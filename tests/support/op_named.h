#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "decoder/graph/graph.h"

namespace headroom::test {

/// Fails the test if no operation has this name.
inline const Op& op_named(const Graph& graph, const std::string& name) {
  const OpId id = graph.find_op(name);
  REQUIRE(id != OpId{-1});
  return graph.op(id);
}

}  // namespace headroom::test
