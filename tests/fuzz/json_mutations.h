#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <random>

namespace headroom::fuzz {

/// Changes one place of a document, so that it stays JSON: a number to an extreme one, a value to one of
/// another kind or to one from elsewhere in the document, an element or a member gone, doubled or deeply
/// nested.
void mutate(nlohmann::json& document, std::minstd_rand& random);

}  // namespace headroom::fuzz
