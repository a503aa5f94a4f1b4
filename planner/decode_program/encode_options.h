#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "planner/decode_program/options.h"

namespace headroom {

/// Options of headroom-decode encode.
struct EncodeOptions : SharedOptions {
  std::string picture;   ///< a picture, a folder with a clip's frames, or an array
  std::string pictures;  ///< a folder with pictures of any sizes
  bool crop = false;
  std::string latent_scale = "model";
};

/// Returns nullopt if it printed --help or --version on `out`. Throws InputError naming the option.
std::optional<EncodeOptions> parse_encode_options(const std::vector<std::string>& args, std::ostream& out);

}  // namespace headroom
