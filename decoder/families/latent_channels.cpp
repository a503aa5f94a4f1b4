#include "decoder/families/latent_channels.h"

namespace headroom {

std::vector<double> channel_values(const JsonFields& config, const char* key,
                                   const std::vector<double>& otherwise) {
  constexpr size_t kMostValues = 1024;
  if (!config.has(key)) return otherwise;
  if (config[key].is_null()) return {};
  const JsonFields field = config[key];
  std::vector<double> values;
  for (size_t i = 0; i < field.size(kMostValues); ++i) values.push_back(field[i].number());
  return values;
}

std::optional<double> scaling_factor(const JsonFields& config, std::optional<double> otherwise) {
  constexpr const char* kKey = "scaling_factor";
  if (!config.has(kKey)) return otherwise;
  if (config[kKey].is_null()) return std::nullopt;
  return config[kKey].nonzero();
}

std::optional<double> shift_factor(const JsonFields& config, double otherwise) {
  constexpr const char* kKey = "shift_factor";
  if (!config.has(kKey)) return otherwise;
  if (config[kKey].is_null()) return std::nullopt;
  return config[kKey].number();
}

}  // namespace headroom
