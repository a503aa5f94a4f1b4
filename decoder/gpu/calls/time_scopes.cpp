#include "decoder/gpu/calls/time_scopes.h"

#include <type_traits>

namespace headroom::gpu {

const char* name_of(TimeScope scope) {
  switch (scope) {
    case TimeScope::convolution:
      return "convolution";
    case TimeScope::attention:
      return "attention";
    case TimeScope::elementwise:
      return "elementwise";
    case TimeScope::waiting:
      return "waiting";
    case TimeScope::copies:
      return "copies";
  }
  return "";
}

TimeScope scope_of(const Call& call) {
  return std::visit(
      [](const auto& one) {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, Convolve>) return TimeScope::convolution;
        constexpr bool kAttention = std::is_same_v<T, Attend> || std::is_same_v<T, AddKeyValueSums> ||
                                    std::is_same_v<T, LinearAttention>;
        return kAttention ? TimeScope::attention : TimeScope::elementwise;
      },
      call);
}

}  // namespace headroom::gpu
