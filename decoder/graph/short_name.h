#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// What people are shown of an operation's or a tensor's name; files keep the full one, and no two of a graph
/// are shown alike. `decoder.up_blocks.3.resnets.1.conv1` is `up3.res1.conv1`. A name without known parts
/// comes back as it is.
std::string short_name(std::string_view name);

/// A text with the short name of each layer and tensor of a decoder in it: of every `decoder.…` that is a
/// word of its own and no part of a path.
std::string with_short_names(std::string_view text);

/// The full names in a text that with_short_names() would replace, in their order.
std::vector<std::string> full_names(std::string_view text);

}  // namespace headroom
