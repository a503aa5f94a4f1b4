#pragma once

#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "decoder/outputs/left_behind.h"
#include "decoder/outputs/output_target.h"
#include "decoder/outputs/require_apart.h"

namespace headroom {

/// Folders that were made for outputs before long work. Those in which nothing lies in the end go again: a
/// run that was refused leaves none behind, nor one that a signal ends.
class MadeFolders {
 public:
  MadeFolders() = default;
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;
  MadeFolders(MadeFolders&& other) noexcept : made_(std::move(other.made_)) { other.made_.clear(); }
  MadeFolders& operator=(MadeFolders&&) = delete;
  ~MadeFolders();

  /// Makes a folder and those above it where they are missing. Returns why it cannot be made; file_exists
  /// where a file is in the place of one.
  std::error_code make(const std::filesystem::path& folder);

 private:
  struct Made {
    std::filesystem::path folder;
    std::unique_ptr<RemovedOnSignal> on_signal;
  };
  std::vector<Made> made_;  ///< each after the one that it lies in
};

/// For an output's folder that is not there. A command line's is probably mistyped.
enum class MissingFolders { refuse, make };

/// Before long work: each output can be written to, none would overwrite another or an input
/// (require_apart()), and their folders are there or are made. Throws InputError naming option and file.
[[nodiscard]] MadeFolders prepare_outputs(const std::vector<NamedFile>& outputs,
                                          const std::vector<NamedFile>& inputs = {},
                                          MissingFolders missing = MissingFolders::refuse);

/// Makes a folder for outputs where it is missing, inside one that is there. Throws InputError naming it.
[[nodiscard]] MadeFolders make_output_folder(const std::filesystem::path& folder);

/// The stream for a program's messages: `out`, or `err` where the standard output is one of its outputs.
std::ostream& message_stream(const std::vector<std::string>& outputs, std::ostream& out, std::ostream& err);

}  // namespace headroom
