#pragma once

#include <string>
#include <vector>

#include "decoder/exchange/exchange.h"

namespace headroom {

/// The texts of all ranks, in their order, at rank 0; none at the others. All ranks call it, with texts of
/// any lengths and bytes. They travel as gathered values, since the memory of an exchange's messages may be a
/// GPU's: every rank sends its text to all others, bit by bit, and holds a bit at a time.
std::vector<std::string> gather_texts(Exchange& exchange, const std::string& own);

}  // namespace headroom
