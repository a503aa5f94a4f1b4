#pragma once

#include <string>
#include <vector>

#include "reports/figures/document.h"
#include "reports/figures/table.h"

namespace headroom::reports {

/// Compares two documents of one kind, with a table for each unit: item, a, b, ratio of b to a. Items that
/// only one document has come first, then the largest differences. Equal items are left out and counted in
/// the title. A last table lists facts whose text differs. Empty tables are left out.
///
/// Profiles are compared layer by layer at the sizes that both have, plans as headroom-plan diff does, runs
/// and traces pass by pass, frontiers at the limits of both, files of several ranks rank by rank. Memory
/// histories are compared on `recorded_device`, or on each one's main device if it is empty. Throws
/// InputError with both files if their kinds differ.
std::vector<Table> compare(const Document& a, const Document& b, const std::string& recorded_device = {});

}  // namespace headroom::reports
