#pragma once

#include <filesystem>

namespace headroom {

/// Where an output goes, as its name stands on the disk now.
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

/// Throws InputError where `named` cannot be an output, also where its name is too long for the file that it
/// is written as at first (partial_file.h).
OutputTarget output_target(const std::filesystem::path& named);

/// The file at the end of links, which need not be there. Throws InputError as output_target() does of links.
std::filesystem::path file_behind_links(const std::filesystem::path& named);

/// Whether it is written through. False as well for what can be no output.
bool is_stream(const std::filesystem::path& named) noexcept;

/// Whether it is the standard output of this process, by any name.
bool is_standard_output(const std::filesystem::path& named) noexcept;

}  // namespace headroom
