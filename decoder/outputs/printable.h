#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Text from a file as it may stand in a one-line message: as escaped(), and what is longer than 160 bytes is
/// cut between two UTF-8 characters and ends in "...".
std::string printable(std::string_view text);

/// Text that does nothing to a terminal: what would move its cursor, change its colours or end its line, also
/// of Unicode (C1, directions, line ends) and what is no UTF-8, becomes \n, \t, \x1b, \u202e. The rest stays.
std::string escaped(std::string_view text);

/// A message as a terminal shows it in one line: escaped, and of a very long one the middle left out.
std::string one_line(std::string_view message);

/// "[4, 8, 1]"
std::string printable(const std::vector<int64_t>& shape);

}  // namespace headroom
