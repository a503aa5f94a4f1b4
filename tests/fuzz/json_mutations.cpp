#include "tests/fuzz/json_mutations.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace headroom::fuzz {
namespace {

using nlohmann::json;

size_t below(size_t count, std::minstd_rand& random) {
  return count == 0 ? 0 : std::uniform_int_distribution<size_t>(0, count - 1)(random);
}

void collect(json& value, std::vector<json*>& places) {
  places.push_back(&value);
  if (!value.is_structured()) return;
  for (json& inner : value) collect(inner, places);
}

json extreme(std::minstd_rand& random) {
  static const json kExtremes[] = {0,
                                   1,
                                   -1,
                                   2,
                                   255,
                                   65'536,
                                   2'147'483'647,
                                   2'147'483'648,
                                   -2'147'483'648,
                                   int64_t{1} << 40,
                                   int64_t{1} << 60,
                                   std::numeric_limits<int64_t>::max(),
                                   std::numeric_limits<int64_t>::min(),
                                   std::numeric_limits<uint64_t>::max(),
                                   0.5,
                                   -0.0,
                                   1e-320,
                                   1e308,
                                   nullptr,
                                   true,
                                   "",
                                   "auto",
                                   "\n\x1b[31m",
                                   json::array(),
                                   json::object()};
  return kExtremes[below(std::size(kExtremes), random)];
}

void change_container(json& container, std::minstd_rand& random) {
  const size_t at = below(container.size(), random);
  if (container.is_array()) {
    if (container.empty()) return container.push_back(extreme(random));
    const auto place = container.begin() + static_cast<std::ptrdiff_t>(at);
    if (below(2, random) == 0) {
      container.erase(place);
    } else {
      const json copy = *place;
      container.insert(place, 1 + below(3, random), copy);
    }
    return;
  }
  if (container.empty()) return;
  auto member = container.begin();
  std::advance(member, at);
  if (below(2, random) == 0) {
    container.erase(member);
  } else {
    container[member.key() + "_"] = *member;
  }
}

}  // namespace

void mutate(json& document, std::minstd_rand& random) {
  std::vector<json*> places;
  collect(document, places);
  json& place = *places[below(places.size(), random)];
  switch (below(6, random)) {
    case 0:
    case 1:
      place = extreme(random);
      return;
    case 2: {
      const json other = *places[below(places.size(), random)];
      place = other;
      return;
    }
    case 3:
      if (place.is_number_integer()) {
        const auto value = static_cast<uint64_t>(place.get<int64_t>());
        place = static_cast<int64_t>(below(2, random) == 0 ? value + 1 : value - 1);
      } else {
        place = extreme(random);
      }
      return;
    case 4: {
      json nested = place;
      for (size_t depth = below(70, random); depth > 0; --depth) nested = json::array({nested});
      place = nested;
      return;
    }
    default:
      if (place.is_structured()) {
        change_container(place, random);
      } else {
        place = extreme(random);
      }
  }
}

}  // namespace headroom::fuzz
