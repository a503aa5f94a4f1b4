#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom::reports {

/// Makes text from a file safe to show: valid UTF-8, with U+FFFD for invalid bytes. Line breaks and tabs
/// become spaces. Control characters and marks that change the direction of text are dropped.
std::string clean_text(std::string_view text);

/// Clean text escaped for HTML and SVG, between tags and inside quoted attributes.
std::string html_text(std::string_view text);

/// Clean text escaped for one line of Markdown, also inside a table. No part of it is read as markup or a
/// link.
std::string markdown_text(std::string_view text);

/// Length in bytes of the character at `at`. `text` must be clean.
size_t character_bytes(std::string_view text, size_t at);

}  // namespace headroom::reports
