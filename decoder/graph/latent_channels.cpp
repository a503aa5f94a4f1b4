#include "decoder/graph/latent_channels.h"

namespace headroom {

std::vector<double> channel_values(const JsonFields& config, const char* key) {
  constexpr size_t kMostValues = 1024;
  if (!config.has(key) || config[key].is_null()) return {};
  const JsonFields field = config[key];
  std::vector<double> values;
  for (size_t i = 0; i < field.size(kMostValues); ++i) values.push_back(field[i].number());
  return values;
}

}  // namespace headroom
