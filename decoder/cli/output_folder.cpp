#include "decoder/cli/output_folder.h"

#include "decoder/graph/errors.h"

namespace headroom {

MadeFolders::~MadeFolders() {
  std::error_code not_empty;
  for (size_t i = made_.size(); i-- > 0;) std::filesystem::remove(made_[i], not_empty);
}

std::string MadeFolders::make(const std::filesystem::path& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return "";
  // Of "a/b/" the path's parent is "a/b".
  if (!folder.has_filename()) return make(folder.parent_path());
  const std::string why = make(folder.parent_path());
  if (!why.empty()) return why;
  if (std::filesystem::create_directory(folder, error)) made_.push_back(folder);
  std::error_code ignored;
  if (std::filesystem::is_directory(folder, ignored)) return "";
  return error ? error.message() : "a file is in its place";
}

MadeFolders make_folders_of(const std::vector<std::string>& files) {
  MadeFolders made;
  for (const std::string& file : files) {
    if (file.empty()) continue;
    // The folder of "frames/", which is a folder of pictures itself, is where it stands.
    const std::filesystem::path path = file;
    const std::filesystem::path named = path.has_filename() ? path : path.parent_path();
    const std::string why = made.make(named.parent_path());
    if (!why.empty()) throw InputError(file + ": its folder cannot be made: " + why);
  }
  return made;
}

MadeFolders make_output_folder(const std::filesystem::path& folder) {
  MadeFolders made;
  const std::string why = made.make(folder);
  if (!why.empty()) throw InputError(folder.string() + ": the folder cannot be made: " + why);
  return made;
}

}  // namespace headroom
