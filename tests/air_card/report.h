#pragma once

#include <cstdint>
#include <map>
#include <string>

// Facts that the other parts of the air card add to the report.
namespace headroom::air {

/// Names a call that followed an error and neither releases nor asks something.
void note_call_after_error(const std::string& call);
/// One wait of a stream for another one's event. `covered`: the order is the same without it.
void note_wait(int64_t stream, int64_t on, bool covered);
void note_kernel(const std::string& name);
/// Adds to a counter whose largest value the report has too, as "peak_" and its name.
void change(const char* counter, int64_t by);

const std::map<std::string, int64_t>& calls_by_name();

}  // namespace headroom::air
