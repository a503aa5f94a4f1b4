#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Text from a file as it may stand in a one-line message: control characters become '?', and what is longer
/// than 160 bytes is cut between two UTF-8 characters and ends in "...".
std::string printable(std::string_view text);

/// "[4, 8, 1]"
std::string printable(const std::vector<int64_t>& shape);

}  // namespace headroom
