#pragma once

#include <string_view>

namespace headroom::reports {

/// The page's script. It sorts tables by their headings and unfolds rows before printing. The page is
/// complete without it. CMakeLists.txt embeds page_script.js.
std::string_view page_script();
/// The script's hash for the Content-Security-Policy: "sha256-" and the hash in base64.
std::string_view page_script_hash();

/// The page's CSS: colours for light, dark and print, and tables that scroll in their own box. Drawings use
/// the classes fill-<colour role> and line-<colour role>.
std::string_view page_style();

}  // namespace headroom::reports
