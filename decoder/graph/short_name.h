#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// What people are shown of an operation's or a tensor's name; files keep the full one, and no two of a graph
/// are shown alike. `decoder.up_blocks.3.resnets.1.conv1` is `up3.res1.conv1`. A name without known parts
/// comes back as it is.
std::string short_name(std::string_view name);

}  // namespace headroom
