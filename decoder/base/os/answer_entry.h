#pragma once

#include <algorithm>
#include <cstring>
#include <exception>

namespace headroom {

/// Body of a module's entry function. Returns the object that `open` makes. Returns null and writes the
/// reason to `error` if `open` throws or the caller has another version. Truncates the reason to
/// `error_bytes`.
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
