#pragma once

#include <cstdint>
#include <map>

// Stream functions that events need.
namespace headroom::air {

/// How much of each stream's work is known to be done: by the host, or before a stream's next work.
using Clock = std::map<int64_t, int64_t>;
void join(Clock& clock, const Clock& other);
/// Work that the host knows to be done. Calls that wait for work add to it.
Clock& host_clock();
/// Work that is done before a stream's next work.
Clock& clock_of(const void* stream);

/// Runs the next piece of a stream's work. False if there is none.
bool run_next(const void* stream);
/// Draws whether a question for work under way finds it done.
bool drawn_done();
/// The number of a stream in the order of creation; 0 is the default stream. Negative if it does not exist.
int64_t stream_number(const void* stream);

}  // namespace headroom::air
