#include "decoder/operations/operation.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

namespace headroom {
namespace {

TEST_CASE("operations: every kind has a name and a record", "[unit][operations]") {
  std::set<std::string> names;
  for (OpKind kind : kAllKinds) names.insert(name_of(kind));
  CHECK(names.size() == kAllKinds.size());
  CHECK(std::string(name_of(OpKind{77})) == "?");
  std::set<const Operation*> records;
  for (OpKind kind : kAllKinds) {
    CAPTURE(name_of(kind));
    records.insert(&operation(kind));
    CHECK_FALSE((makes_tile(kind) && takes_statistics(kind)));
  }
  // Moves share a record, which names no table.
  CHECK(records.size() == kAllKinds.size() - 3);
  CHECK(operation(OpKind::emit).table_name == nullptr);
  CHECK(operation(OpKind::activate).table_name != nullptr);
}

TEST_CASE("operations: steps that write whole tensors make no tile", "[unit][operations]") {
  for (OpKind kind : {OpKind::store, OpKind::accumulate, OpKind::emit}) {
    CHECK_FALSE(makes_tile(kind));
    CHECK_FALSE(takes_statistics(kind));
  }
  CHECK(makes_tile(OpKind::gather));
  CHECK_FALSE(operation(OpKind::gather).rounds);
}

}  // namespace
}  // namespace headroom
