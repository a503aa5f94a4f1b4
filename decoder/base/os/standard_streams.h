#pragma once

namespace headroom {

constexpr int kStandardInput = 0, kStandardOutput = 1, kStandardError = 2;  ///< descriptors

bool is_terminal(int descriptor);

/// Width of the terminal on standard output, in columns, between 40 and 400. Uses COLUMNS if set, then the
/// terminal's size, then 80.
int terminal_width();

/// True if writing a line does not block on the reader.
bool has_room(int descriptor);

/// True if the reader of standard output has closed it, as in `headroom-plan explain plan.json | head`.
bool reader_is_gone();

/// Occupies closed standard streams with /dev/null. Otherwise the next opened file would get that descriptor
/// and receive the program's output. The access mode is the wrong one on purpose, so that printing reports
/// an error instead of being lost.
void hold_standard_streams();

/// Ignores SIGPIPE unless the process handles it, so that writing to a closed pipe fails instead of ending
/// the program. A decode thus survives the end of the program that reads its progress.
void ignore_closed_pipes();

/// Writes "<program>: out of memory" to standard error. Allocates nothing.
void report_out_of_memory() noexcept;

}  // namespace headroom
