#pragma once

#include <filesystem>
#include <string>

namespace headroom {

/// Most symbolic links to follow for one name, as in Linux.
constexpr int kMostLinks = 40;

/// An output that stays inside a folder, even if someone adds links later. The constructor resolves the
/// output's parent once, beneath `folder`, and holds it open.
class InsideFolder {
 public:
  /// Throws InputError if a link leads out of `folder` or the parent of `named` is missing.
  InsideFolder(const std::filesystem::path& folder, const std::filesystem::path& named);
  ~InsideFolder();
  InsideFolder(const InsideFolder&) = delete;
  InsideFolder& operator=(const InsideFolder&) = delete;

  /// Path of the file through the open folder, valid as long as this object. output_target() does not follow
  /// links there.
  const std::filesystem::path& path() const { return path_; }
  /// Replaces the open folder's path in a message by the folder's name.
  std::string renamed(std::string message) const;

 private:
  int descriptor_ = -1;
  std::filesystem::path path_;
  std::filesystem::path folder_;  ///< name of the folder for messages
};

/// Throws InputError if a link leads out of `folder`. Also works before missing folders are created.
void require_inside(const std::filesystem::path& folder, const std::filesystem::path& named);

/// True for paths of InsideFolder.
bool is_in_open_folder(const std::filesystem::path& file);

}  // namespace headroom
