#pragma once

#include <cstddef>
#include <functional>
#include <stdexcept>

namespace headroom::planner {

/// Ends a run that the caller's progress function wants to end.
struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("stopped by the progress function") {}
};

/// Runs `body` and turns its exceptions into a status of headroom.h and a message in words of its fields.
int guarded(char* message, size_t message_bytes, const std::function<void()>& body) noexcept;

/// Copies the message of this thread's last call of guarded(), cut to `bytes` with the terminating 0. Copies
/// nothing if `text` is null. Returns the length of the whole message.
size_t copy_message(char* text, size_t bytes) noexcept;

/// Throws InputError if the pointer is null.
void require(const void* pointer, const char* name);

}  // namespace headroom::planner
