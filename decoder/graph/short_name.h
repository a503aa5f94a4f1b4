#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// What people are shown of an operation's or a tensor's name; files keep the full one, and no two of a graph
/// are shown alike. `decoder.up_blocks.3.resnets.1.conv1` is `up3.res1.conv1`. A name without known parts
/// comes back as it is.
std::string short_name(std::string_view name);

/// The text with the short name of each layer and tensor in it: names that begin with `decoder.`, but not
/// within a path or another name.
std::string with_short_names(std::string_view text);

}  // namespace headroom
