#pragma once

#include <algorithm>
#include <cstring>
#include <exception>

namespace headroom {

/// What an entry of a module answers: the object that `open` makes; null, and why in `error`, where that
/// throws or the caller is of another version.
template <typename Open>
auto answer_entry(const char* version, char* error, size_t error_bytes, const Open& open)
    -> decltype(open()) {
  const auto fail = [&](const char* why) {
    const size_t length = std::min(std::strlen(why), error_bytes - 1);
    std::memcpy(error, why, length);
    error[length] = '\0';
    return nullptr;
  };
  if (std::strcmp(version, HEADROOM_VERSION) != 0)
    return fail("it belongs to another version: " HEADROOM_VERSION);
  try {
    return open();
  } catch (const std::exception& failure) {
    return fail(failure.what());
  }
}

}  // namespace headroom
