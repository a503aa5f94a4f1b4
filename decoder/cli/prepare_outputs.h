#pragma once

#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "decoder/base/os/left_behind.h"
#include "decoder/base/os/output_target.h"
#include "decoder/files/require_apart.h"

namespace headroom {

/// Folders created for outputs before long work. The destructor removes those that are still empty, and so
/// does a signal. So a rejected run leaves no empty folders.
class MadeFolders {
 public:
  MadeFolders() = default;
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;
  MadeFolders(MadeFolders&& other) noexcept : made_(std::move(other.made_)) { other.made_.clear(); }
  MadeFolders& operator=(MadeFolders&&) = delete;
  ~MadeFolders();

  /// Creates a folder and its missing parents. Returns an error code on failure; file_exists if a file is in
  /// the way.
  std::error_code make(const std::filesystem::path& folder);

 private:
  struct Made {
    std::filesystem::path folder;
    std::unique_ptr<RemovedOnSignal> on_signal;
  };
  std::vector<Made> made_;  ///< parents before children
};

/// Handling of an output folder that does not exist. On a command line, it is probably a typo.
enum class MissingFolders { refuse, make };

/// Checks outputs before long work. Each must be writable, and none may overwrite another output or an input
/// (require_apart()). Missing folders are created or rejected, by `missing`. Throws InputError naming the
/// option and the file.
[[nodiscard]] MadeFolders prepare_outputs(const std::vector<NamedFile>& outputs,
                                          const std::vector<NamedFile>& inputs = {},
                                          MissingFolders missing = MissingFolders::refuse);

/// Creates a folder for outputs if it is missing. Its parent must exist. Throws InputError naming it.
[[nodiscard]] MadeFolders make_output_folder(const std::filesystem::path& folder);

/// Returns the stream for a program's messages: `out`, or `err` if an output goes to standard output.
std::ostream& message_stream(const std::vector<std::string>& outputs, std::ostream& out, std::ostream& err);

}  // namespace headroom
