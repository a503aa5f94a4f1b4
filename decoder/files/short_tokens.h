#pragma once

#include <istream>
#include <memory>
#include <string>

namespace headroom {

/// Wraps a stream of JSON text. JSON parsers hold each token whole in memory, so this limits tokens to 1
/// MiB. The streambuf throws InputError for a longer string, or for more than 1 MiB between two strings or
/// numbers.
std::unique_ptr<std::istream> with_short_tokens(std::unique_ptr<std::istream> text,
                                                const std::string& origin);

}  // namespace headroom
