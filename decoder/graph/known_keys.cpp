#include "decoder/graph/known_keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "decoder/graph/nearest.h"

namespace headroom {

void require_known_keys(const JsonFields& object, const std::vector<std::string>& known) {
  if (!object.value().is_object()) return;  // said where its fields are read
  for (const auto& item : object.value().items()) {
    if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
    const std::string shown = nlohmann::json(item.key().substr(0, 40))
                                  .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    const std::string meant = nearest(item.key(), known);
    object.fail("unknown key " + shown + (meant.empty() ? "" : "; did you mean \"" + meant + "\"?"));
  }
}

}  // namespace headroom
