#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "decoder/base/errors.h"

namespace headroom::testing {

/// A path for a plan file. The destructor removes the file.
struct PlanPath {
  std::filesystem::path path = std::filesystem::temp_directory_path() /
                               ("headroom-plan-file-test-" + std::to_string(getpid()) + ".json");
  PlanPath() = default;
  PlanPath(const PlanPath&) = delete;
  PlanPath& operator=(const PlanPath&) = delete;
  ~PlanPath() { std::filesystem::remove(path); }
};

/// Reading plan.json must be refused with a message of one line that starts like this.
template <typename Read>
void require_refused(const Read& read, const std::string& start) {
  try {
    read();
    FAIL("accepted, expected: " << start);
  } catch (const InputError& error) {
    const std::string message = error.what();
    CHECK_THAT(message, Catch::StartsWith("plan.json: " + start));
    CHECK(message.find('\n') == std::string::npos);
    CHECK(message.size() < 300);
  }
}

}  // namespace headroom::testing
