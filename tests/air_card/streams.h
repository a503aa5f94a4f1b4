#pragma once

#include <cstdint>
#include <map>

// Stream functions for events.
namespace headroom::air {

/// Vector clock: the amount of each stream's work that is known to be complete.
using Clock = std::map<int64_t, int64_t>;
void join(Clock& clock, const Clock& other);
/// Work that the host knows to be complete. Blocking calls advance it.
Clock& host_clock();
/// Work that completes before the stream's next work starts.
Clock& clock_of(const void* stream);

/// Runs the next queued item of a stream. Returns false if the queue is empty.
bool run_next(const void* stream);
/// Draws at random if a query reports pending work as complete.
bool drawn_done();
/// Number of a stream in order of creation; 0 is the default stream. Negative for an unknown stream.
int64_t stream_number(const void* stream);

}  // namespace headroom::air
