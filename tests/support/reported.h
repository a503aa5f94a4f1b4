#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "decoder/progress/progress_lines.h"

namespace headroom::test {

/// A program's standard error, taken apart.
struct Reported {
  std::vector<ProgressEvent> events;
  std::vector<std::string> messages;

  /// All news of one kind.
  template <typename T>
  std::vector<T> news() const {
    std::vector<T> found;
    for (const ProgressEvent& event : events) {
      if (const T* one = std::get_if<T>(&event.news)) found.push_back(*one);
    }
    return found;
  }
};

/// No line may be damaged.
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
