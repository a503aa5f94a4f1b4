#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/exchange/exchange.h"

namespace headroom {

/// A value that must be equal on all ranks.
struct Agreed {
  std::string what;   ///< name for messages: "plan", "latent", "weights"
  std::string value;  ///< compared in full: a version, a file's bytes, or a fingerprint
  std::string shown;  ///< shown if ranks differ: a file's name, a version; may be empty
};

/// Checks that all ranks have the same values. If one differs from rank 0, throws ExchangeError on all
/// ranks: "rank 1 has another plan than rank 0: a.json rather than b.json". Headroom's versions are compared
/// first. All ranks must call it with the same things in the same order, before any other exchange.
void agree(Exchange& exchange, const std::vector<Agreed>& things);

}  // namespace headroom
