#include "decoder/plan/tf32.h"

#include "decoder/base/errors.h"

namespace headroom {

const char* name_of(Tf32 tf32) {
  if (tf32.convolutions) return tf32.products ? "all" : "convolutions";
  return tf32.products ? "products" : "none";
}

Tf32 parse_tf32(const std::string& text, const std::string& option) {
  for (const Tf32 known : kTf32Choices) {
    if (text == name_of(known)) return known;
  }
  throw InputError(option + ": expected all, convolutions or products, found '" + text + "'");
}

const char* after_dtype(Tf32 tf32) {
  if (tf32.convolutions) return tf32.products ? " with TF32" : " with TF32 in convolutions";
  return tf32.products ? " with TF32 in products" : "";
}

}  // namespace headroom
