#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <random>

namespace headroom::fuzz {

/// Changes one place of a document; the result is still JSON. It sets a number to an extreme, or replaces a
/// value by one of another type or from elsewhere in the document. It also removes, duplicates or deeply
/// nests elements and members.
void mutate(nlohmann::json& document, std::minstd_rand& random);

}  // namespace headroom::fuzz
