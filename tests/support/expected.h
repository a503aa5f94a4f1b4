#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace headroom::test {

/// Compares a text with the file of this name in tests/data/expected. With HEADROOM_REWRITE_EXPECTED in the
/// environment, writes the file instead.
inline void check_expected(const std::string& name, const std::string& text) {
  const std::filesystem::path file = std::filesystem::path(HEADROOM_TEST_DATA) / "expected" / name;
  if (std::getenv("HEADROOM_REWRITE_EXPECTED") != nullptr) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream expected;
  expected << stream.rdbuf();
  CAPTURE(name);
  CHECK(text == expected.str());
}

}  // namespace headroom::test
