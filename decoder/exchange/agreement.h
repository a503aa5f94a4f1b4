#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/exchange/exchange.h"

namespace headroom {

/// Something that must be the same on all ranks.
struct Agreed {
  std::string what;   ///< for a message: "plan", "latent", "weights"
  std::string value;  ///< what is compared, whole: a version, a file's bytes, or a fingerprint of them
  std::string shown;  ///< for a message, if ranks differ: a file's name, a version. May be empty
};

/// Throws ExchangeError on all ranks, "rank 1 has another plan than rank 0: a.json rather than b.json", where
/// one differs from rank 0. Versions of Headroom are compared first. To be called before anything else is
/// exchanged, by all ranks with the same things in the same order.
void agree(Exchange& exchange, const std::vector<Agreed>& things);

}  // namespace headroom
