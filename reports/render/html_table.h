#pragma once

#include "reports/figures/table.h"
#include "reports/render/markup.h"

namespace headroom::reports {

/// A table for a page: its first rows, and those beyond them folded away below. Cells of numbers carry the
/// full number as `data-value`.
void write_html_table(Markup& page, const Table& table);

/// Too many columns for an upright page.
bool is_wide(const Table& table);

}  // namespace headroom::reports
