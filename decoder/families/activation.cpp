#include "decoder/families/activation.h"

#include <map>

namespace headroom {

Activation parse_activation(const JsonFields& field) {
  static const std::map<std::string, Activation> known{{"silu", Activation::silu},
                                                       {"swish", Activation::silu},
                                                       {"relu", Activation::relu},
                                                       {"gelu", Activation::gelu},
                                                       {"mish", Activation::mish}};
  const auto found = known.find(field.text());
  if (found == known.end())
    field.fail("'" + field.text() + "' is not supported; expected silu, swish, relu, gelu or mish");
  return found->second;
}

}  // namespace headroom
