#pragma once

#include "reports/figures/table.h"
#include "reports/render/markup.h"

namespace headroom::reports {

/// Writes a table for a page. The rows beyond the first ones are folded. Cells of numbers carry the full
/// number as `data-value`.
void write_html_table(Markup& page, const Table& table);

/// True if the table is too wide for a page in portrait.
bool is_wide(const Table& table);

}  // namespace headroom::reports
