#pragma once

#include <string>
#include <vector>

namespace headroom {

/// ASCII letters in lower case; other bytes stay.
std::string lower_case(std::string text);

/// Insertions, deletions, replacements and swaps of neighbours that make one word of the other.
size_t edit_distance(const std::string& a, const std::string& b);

/// The word that was probably meant: the nearest one, where at most a third of the longer word's letters
/// differ, and two at the least. Empty where none is that near.
std::string nearest(const std::string& word, const std::vector<std::string>& words);

}  // namespace headroom
