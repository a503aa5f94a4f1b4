#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

namespace headroom::test {

/// The descriptor of this process that has a file open whose path begins like this. There must be one.
inline int open_descriptor_of(const std::filesystem::path& begin_of_path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;  // the iterator's own may be gone
    const std::string path = std::filesystem::read_symlink(entry.path(), closed).string();
    if (path.starts_with(begin_of_path.string())) return std::stoi(entry.path().filename().string());
  }
  FAIL(begin_of_path.string() + " is not open");
  return -1;
}

}  // namespace headroom::test
