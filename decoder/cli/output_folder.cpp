#include "decoder/cli/output_folder.h"

#include "decoder/graph/errors.h"

namespace headroom {
namespace {

/// Empty where it is there or was made.
std::string why_not_made(const std::filesystem::path& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return "";
  std::filesystem::create_directories(folder, error);
  std::error_code ignored;
  if (std::filesystem::is_directory(folder, ignored)) return "";
  return error ? error.message() : "a file is in its place";
}

}  // namespace

void make_folders_of(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (file.empty()) continue;
    // The folder of "frames/", which is a folder of pictures itself, is where it stands.
    const std::filesystem::path path = file;
    const std::filesystem::path named = path.has_filename() ? path : path.parent_path();
    const std::string why = why_not_made(named.parent_path());
    if (!why.empty()) throw InputError(file + ": its folder cannot be made: " + why);
  }
}

void make_output_folder(const std::filesystem::path& folder) {
  const std::string why = why_not_made(folder);
  if (!why.empty()) throw InputError(folder.string() + ": the folder cannot be made: " + why);
}

}  // namespace headroom
