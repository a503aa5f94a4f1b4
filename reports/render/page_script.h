#pragma once

#include <string_view>

namespace headroom::reports {

/// Sorts tables by their heads and unfolds rows before printing. Nothing is missing without it. It is
/// page_script.js, which CMakeLists.txt makes a source of.
std::string_view page_script();
/// The script as a Content-Security-Policy names it: "sha256-" and the hash in base64.
std::string_view page_script_hash();

}  // namespace headroom::reports
