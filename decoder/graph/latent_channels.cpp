#include "decoder/graph/latent_channels.h"

namespace headroom {

std::vector<double> channel_values(const JsonFields& config, const char* key, int64_t channels) {
  if (!config.has(key) || config[key].is_null()) return {};
  const JsonFields field = config[key];
  std::vector<double> values;
  for (size_t i = 0; i < field.size(static_cast<size_t>(channels)); ++i) values.push_back(field[i].number());
  if (static_cast<int64_t>(values.size()) != channels) {
    field.fail("expected one value per latent channel, " + std::to_string(channels));
  }
  return values;
}

}  // namespace headroom
