#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Short name of an operation or a tensor, for display; files keep the full name. Short names are unique in a
/// graph. `decoder.up_blocks.3.resnets.1.conv1` becomes `up3.res1.conv1`. A name without known parts is
/// returned unchanged.
std::string short_name(std::string_view name);

/// Replaces the full names of layers and tensors in a text by their short names. A full name is a `decoder.…`
/// that is a word of its own and not part of a path.
std::string with_short_names(std::string_view text);

/// The full names that with_short_names() would replace, in order.
std::vector<std::string> full_names(std::string_view text);

}  // namespace headroom
