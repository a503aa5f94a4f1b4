#pragma once

#include <filesystem>

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

}  // namespace headroom
