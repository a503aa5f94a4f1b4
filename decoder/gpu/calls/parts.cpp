#include "decoder/gpu/calls/parts.h"

#include <type_traits>

namespace headroom::gpu {

const char* name_of(Part part) {
  switch (part) {
    case Part::convolution:
      return "convolution";
    case Part::attention:
      return "attention";
    case Part::elementwise:
      return "elementwise";
    case Part::waiting:
      return "waiting";
    case Part::copies:
      return "copies";
  }
  return "";
}

Part part_of(const Call& call) {
  return std::visit(
      [](const auto& one) {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, Convolve>) return Part::convolution;
        constexpr bool kAttention = std::is_same_v<T, Attend> || std::is_same_v<T, AddKeyValueSums> ||
                                    std::is_same_v<T, LinearAttention>;
        return kAttention ? Part::attention : Part::elementwise;
      },
      call);
}

}  // namespace headroom::gpu
