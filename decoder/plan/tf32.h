#pragma once

#include <array>
#include <string>

namespace headroom {

/// Work in fp32 that may round its inputs to TF32, which has 10 bits of mantissa, so that it runs on tensor
/// cores. Sums stay fp32. Only on a GPU. PyTorch has the same two switches: torch.backends.cudnn.conv and
/// torch.backends.cuda.matmul.
struct Tf32 {
  bool convolutions = false;
  bool products = false;  ///< matrix products: attention, and the projections of its inputs and result
  bool any() const { return convolutions || products; }
  friend bool operator==(const Tf32&, const Tf32&) = default;
};

inline constexpr std::array kTf32Choices{Tf32{true, true}, Tf32{true, false}, Tf32{false, true}};

/// "none", "convolutions", "products" or "all", as in files and after --tf32.
const char* name_of(Tf32 tf32);
/// Throws InputError that begins with `option` unless `text` is the name of one of kTf32Choices.
Tf32 parse_tf32(const std::string& text, const std::string& option);

/// A text that follows a dtype: " with TF32 in convolutions". Empty for none.
const char* after_dtype(Tf32 tf32);

}  // namespace headroom
