#pragma once

#include <filesystem>
#include <string>

namespace headroom {

/// Destination of an output, from the current state of the disk.
///
///   picture.png                      a file: replaced as a whole, by a rename
///   link -> ../far/picture.png       the link's target, which need not exist
///   /dev/null, a named pipe          a stream: written to, never replaced
///   -, /dev/stdout, /dev/fd/3        a stream that is already open
///   a folder, a socket, a disk       rejected
///   another user's link in a sticky folder that all may write to, such as /tmp: rejected
struct OutputTarget {
  std::filesystem::path path;  ///< after following links; for a stream, the path to open
  bool is_stream = false;
  int descriptor = -1;  ///< for a stream that is already open
};

/// Throws InputError if `named` cannot be an output, or if its name has no room for the suffix of a partial
/// file (partial_file.h).
OutputTarget output_target(const std::filesystem::path& named);

/// Follows links to the final file, which need not exist. Throws InputError for the same links as
/// output_target().
std::filesystem::path file_behind_links(const std::filesystem::path& named);

/// True if the output is a stream. Also false for names that cannot be an output.
bool is_stream(const std::filesystem::path& named) noexcept;

/// True if the output is this process's standard output, under any name.
bool is_standard_output(const std::filesystem::path& named) noexcept;

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
