#include "decoder/base/known_keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "decoder/base/nearest.h"

namespace headroom {

namespace {

/// The known key that was probably meant: one with a unit ("height_pixels" for "height"), or the nearest by
/// spelling.
std::string meant_key(const std::string& key, const std::vector<std::string>& known) {
  const auto with_unit = std::find_if(known.begin(), known.end(),
                                      [&](const std::string& other) { return other.starts_with(key + "_"); });
  return with_unit == known.end() || key.empty() ? nearest(key, known) : *with_unit;
}

}  // namespace

void require_known_keys(const JsonFields& object, const std::vector<std::string>& known) {
  if (!object.value().is_object()) return;  // reported when its fields are read
  for (const auto& item : object.value().items()) {
    if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
    const std::string shown = nlohmann::json(item.key().substr(0, 40))
                                  .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const std::string meant = meant_key(item.key(), known);
    object.fail("unknown key " + shown + (meant.empty() ? "" : "; did you mean \"" + meant + "\"?"));
  }
}

}  // namespace headroom
