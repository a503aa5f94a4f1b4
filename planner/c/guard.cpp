#include "planner/c/guard.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "planner/c/headroom.h"

namespace headroom::planner {
namespace {

thread_local std::string last;

/// Fields of headroom.h for the programs' options, which messages of the libraries name. Longer names come
/// before names that they begin with.
constexpr std::array<std::pair<const char*, const char*>, 12> kFields{{
    {"--batch", "batch"},
    {"--device", "device"},
    {"--direction", "direction"},
    {"--dtype", "dtype"},
    {"--frames", "frames"},
    {"--host-limit", "host_limit_bytes"},
    {"--limit", "limit_bytes"},
    {"--model", "model"},
    {"--profile", "profile"},
    {"--scratch", "scratch_folder"},
    {"--size", "width_pixels, height_pixels"},
    {"--weights", "weights"},
}};

/// The message with the header's fields in place of options.
std::string in_fields(std::string text) {
  for (const auto& [option, field] : kFields) {
    const size_t length = std::strlen(option);
    for (size_t at = text.find(option); at != std::string::npos; at = text.find(option, at + 1)) {
      const bool whole =
          at + length == text.size() || std::string(" :,;.)=").find(text[at + length]) != std::string::npos;
      if (whole) text.replace(at, length, field);
    }
  }
  return text;
}

}  // namespace

int guarded(char* message, size_t message_bytes, const std::function<void()>& body) noexcept {
  const auto say = [&](int status, const char* what) {
    try {
      last = in_fields(one_line(what));
    } catch (const std::exception&) {  // no memory for the message
      last.clear();
    }
    copy_message(message, message_bytes);
    return status;
  };
  try {
    body();
    return say(HEADROOM_DONE, "");
  } catch (const Stopped& stopped) {
    return say(HEADROOM_STOPPED, stopped.what());
  } catch (const InputError& error) {
    return say(HEADROOM_BAD_INPUT, error.what());
  } catch (const DoesNotFit& error) {
    return say(HEADROOM_DOES_NOT_FIT, error.what());
  } catch (const std::bad_alloc&) {
    return say(HEADROOM_FAILURE, "out of memory");
  } catch (const std::exception& error) {
    return say(HEADROOM_FAILURE, error.what());
  }
}

size_t copy_message(char* text, size_t bytes) noexcept {
  if (text != nullptr && bytes > 0) {
    const size_t length = std::min(last.size(), bytes - 1);
    std::memcpy(text, last.data(), length);
    text[length] = 0;
  }
  return last.size();
}

void require(const void* pointer, const char* name) {
  if (pointer == nullptr) throw InputError(std::string(name) + ": expected a pointer, found NULL");
}

}  // namespace headroom::planner
