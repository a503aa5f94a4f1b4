#pragma once

#include <filesystem>

namespace headroom {

/// Destination of an output, from the current state of the disk.
///
///   picture.png                      a file: replaced whole, by a rename
///   link -> ../far/picture.png       the file that links lead to, which need not be there yet
///   /dev/null, a named pipe          a stream: written through, and never replaced
///   -, /dev/stdout, /dev/fd/3        a stream that is open already
///   a folder, a socket, a disk       refused
///   another user's link in a sticky folder that all may write to, such as /tmp: refused
struct OutputTarget {
  std::filesystem::path path;  ///< behind links; of a stream what is opened
  bool is_stream = false;
  int descriptor = -1;  ///< of a stream that is open already
};

/// Throws InputError if `named` cannot be an output, or if its name has no room for the suffix of a partial
/// file (partial_file.h).
OutputTarget output_target(const std::filesystem::path& named);

/// The file at the end of links, which need not be there. Throws InputError as output_target() does of links.
std::filesystem::path file_behind_links(const std::filesystem::path& named);

/// True if the output is a stream. Also false for names that cannot be an output.
bool is_stream(const std::filesystem::path& named) noexcept;

/// True if the output is this process's standard output, under any name.
bool is_standard_output(const std::filesystem::path& named) noexcept;

}  // namespace headroom
