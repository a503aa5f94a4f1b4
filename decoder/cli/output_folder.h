#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace headroom {

/// Folders that were made for outputs before long work. Those in which nothing lies in the end go again: a
/// run that was refused leaves none behind.
class MadeFolders {
 public:
  MadeFolders() = default;
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;
  MadeFolders(MadeFolders&& other) noexcept : made_(std::move(other.made_)) { other.made_.clear(); }
  MadeFolders& operator=(MadeFolders&&) = delete;
  ~MadeFolders();

  /// Makes a folder and those above it where they are missing. Empty, or why it cannot be made.
  std::string make(const std::filesystem::path& folder);

 private:
  std::vector<std::filesystem::path> made_;  ///< each after the one that it lies in
};

/// Makes the folders of these output files where they are missing; empty names are none. Throws InputError
/// naming the file where one cannot be made.
[[nodiscard]] MadeFolders make_folders_of(const std::vector<std::string>& files);

/// Makes a folder for outputs where it is missing. Throws InputError naming it.
[[nodiscard]] MadeFolders make_output_folder(const std::filesystem::path& folder);

}  // namespace headroom
