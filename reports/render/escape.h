#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom::reports {

/// Text from a file as people may see it: valid UTF-8 (U+FFFD for what is not), line breaks and tabs as
/// spaces, without control characters and without those that turn the direction of what follows.
std::string clean_text(std::string_view text);

/// Clean, for HTML and SVG: between tags and inside quoted attributes.
std::string html_text(std::string_view text);

/// Clean, for one line of Markdown, inside a table as well: nothing in it is markup or a link.
std::string markdown_text(std::string_view text);

/// Bytes of the character that begins at `at` of clean text.
size_t character_bytes(std::string_view text, size_t at);

}  // namespace headroom::reports
