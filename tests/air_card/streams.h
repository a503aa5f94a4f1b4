#pragma once

#include <cstdint>

// What events need of streams.
namespace headroom::air {

/// Runs the next piece of a stream's work. False if there is none.
bool run_next(const void* stream);
/// Draws whether a question for work under way finds it done.
bool drawn_done();
/// The number of a stream in the order of creation; 0 is the default stream. Negative if it does not exist.
int64_t stream_number(const void* stream);

}  // namespace headroom::air
