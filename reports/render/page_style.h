#pragma once

#include <string_view>

namespace headroom::reports {

/// The page's CSS: colours for light, dark and print, and tables that scroll in their own box. Drawings use
/// the classes fill-<colour role> and line-<colour role>.
std::string_view page_style();

}  // namespace headroom::reports
