#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "decoder/base/progress/progress_lines.h"

namespace headroom::test {

/// Progress events and other messages parsed from a program's standard error.
struct Reported {
  std::vector<ProgressEvent> events;
  std::vector<std::string> messages;

  /// All events of one type.
  template <typename T>
  std::vector<T> news() const {
    std::vector<T> found;
    for (const ProgressEvent& event : events) {
      if (const T* one = std::get_if<T>(&event.news)) found.push_back(*one);
    }
    return found;
  }
};

/// Parses standard error. Fails the test if a progress line is malformed.
inline Reported told(const std::string& text) {
  Reported found;
  ProgressReader reader([&](const ProgressEvent& event) { found.events.push_back(event); },
                        [&](const std::string& message) { found.messages.push_back(message); });
  reader.read(text);
  reader.finish();
  CHECK(reader.damaged() == 0);
  return found;
}

}  // namespace headroom::test
