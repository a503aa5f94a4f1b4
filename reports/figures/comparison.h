#pragma once

#include <string>
#include <vector>

#include "reports/figures/document.h"
#include "reports/figures/table.h"

namespace headroom::reports {

/// Two documents of one kind side by side, a table for each unit: item, a, b, ratio of b to a. What only one
/// has comes first, then what differs the most; what is equal is left out and counted in the title. A last
/// table has what differs in words. Tables in which both have nothing are left out. Profiles are compared
/// layer by layer at the sizes that both have, plans as headroom-plan diff does, runs and traces pass by
/// pass, frontiers at the limits of both, files of several ranks rank by rank. Throws InputError naming both
/// files where their kinds differ. Of memory histories one device is compared: `recorded_device`, or where
/// it is empty each one's main device.
std::vector<Table> compare(const Document& a, const Document& b, const std::string& recorded_device = {});

}  // namespace headroom::reports
