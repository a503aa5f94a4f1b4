#pragma once

#include <string_view>

namespace headroom::reports {

/// The page's style: colours for light, dark and print, tables that scroll in their own box, drawings whose
/// colours follow. Classes of drawings: fill-<colour role> and line-<colour role>.
std::string_view page_style();

}  // namespace headroom::reports
