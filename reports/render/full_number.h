#pragma once

#include <string>

namespace headroom {

/// The shortest text that reads back as the same number; "" for what is no number.
std::string full_number(double value);

}  // namespace headroom
