#pragma once

#include <filesystem>
#include <string>

namespace headroom {

/// Links of one name that are followed, as many as Linux follows.
constexpr int kMostLinks = 40;

/// An output that stays inside a folder, whatever links there are or appear: the folder that it lies in is
/// resolved once, beneath `folder`, and held open.
class InsideFolder {
 public:
  /// Throws InputError where a link leads out of `folder` or the folder of `named` is missing.
  InsideFolder(const std::filesystem::path& folder, const std::filesystem::path& named);
  ~InsideFolder();
  InsideFolder(const InsideFolder&) = delete;
  InsideFolder& operator=(const InsideFolder&) = delete;

  /// Names the file through the open folder; valid as long as this. output_target() follows no link there.
  const std::filesystem::path& path() const { return path_; }
  /// A message with the folder as people know it in place of the open one.
  std::string renamed(std::string message) const;

 private:
  int descriptor_ = -1;
  std::filesystem::path path_;
  std::filesystem::path folder_;  ///< as people know it
};

/// Throws InputError where a link leads out of `folder`. For checks before folders are made.
void require_inside(const std::filesystem::path& folder, const std::filesystem::path& named);

/// True for paths of InsideFolder.
bool is_in_open_folder(const std::filesystem::path& file);

}  // namespace headroom
