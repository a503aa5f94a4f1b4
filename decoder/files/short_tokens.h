#pragma once

#include <istream>
#include <memory>
#include <string>

namespace headroom {

/// Passes a JSON text on. Its streambuf throws InputError where a string, or anything else between two
/// strings or numbers, is longer than 1 MiB. JSON parsers collect such a token whole before they hand it on.
std::unique_ptr<std::istream> with_short_tokens(std::unique_ptr<std::istream> text,
                                                const std::string& origin);

}  // namespace headroom
