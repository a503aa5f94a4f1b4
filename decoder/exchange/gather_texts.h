#pragma once

#include <string>
#include <vector>

#include "decoder/exchange/exchange.h"

namespace headroom {

/// Returns the texts of all ranks at rank 0, in rank order, and an empty vector on other ranks. All ranks
/// must call it. Texts may have any length and bytes. They travel through gather(), because messages may
/// have to lie in GPU memory. Each rank sends its text to all others in small pieces.
std::vector<std::string> gather_texts(Exchange& exchange, const std::string& own);

}  // namespace headroom
