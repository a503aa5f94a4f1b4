#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headroom {

/// A string of protocol 0 as Python's repr() quotes it ('it\x27s\n'), as its bytes. Nothing where the quotes
/// or an escape are not whole.
std::optional<std::string> unquoted(std::string_view line);

/// A string in Python's raw-unicode-escape (Latin-1 with \uXXXX and \UXXXXXXXX) as UTF-8. Nothing where an
/// escape is not whole.
std::optional<std::string> unescaped(std::string_view line);

}  // namespace headroom
