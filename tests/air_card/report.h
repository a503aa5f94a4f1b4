#pragma once

#include <cstdint>
#include <map>
#include <string>

// Events that other parts of the air card add to the report.
namespace headroom::air {

/// Records a call after an error. Calls that only release or query are not reported.
void note_call_after_error(const std::string& call);
/// Records that a stream waits for another stream's event. `covered` means that the wait is redundant.
void note_wait(int64_t stream, int64_t on, bool covered);
void note_kernel(const std::string& name);
/// Changes a counter. The report also contains its maximum, under the counter's name with the prefix "peak_".
void change(const char* counter, int64_t by);

const std::map<std::string, int64_t>& calls_by_name();

}  // namespace headroom::air
