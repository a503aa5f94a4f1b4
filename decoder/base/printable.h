#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Prepares text from a file for a one-line message: escapes it, and cuts it after 160 bytes, between UTF-8
/// characters, with "..." at the end.
std::string printable(std::string_view text);

/// Escapes everything that acts on a terminal as \n, \t, \x1b or \u202e. That includes control characters,
/// Unicode direction marks and line ends, C1 codes and invalid UTF-8. All other text is unchanged.
std::string escaped(std::string_view text);

/// Prepares a message for one line of a terminal: escapes it, and drops the middle of a very long one.
std::string one_line(std::string_view message);

/// Formats a shape as "[4, 8, 1]".
std::string printable(const std::vector<int64_t>& shape);

}  // namespace headroom
