#pragma once

#include <string>
#include <vector>

namespace headroom {

/// ASCII letters in lower case; other bytes stay.
std::string lower_case(std::string text);

/// Number of insertions, deletions, replacements and swaps of neighbours that turn one word into the other.
size_t edit_distance(const std::string& a, const std::string& b);

/// The word nearest to `word`, to suggest a correction. Up to a third of the longer word's letters may
/// differ, and always up to two. Empty if no word is that near.
std::string nearest(const std::string& word, const std::vector<std::string>& words);

}  // namespace headroom
