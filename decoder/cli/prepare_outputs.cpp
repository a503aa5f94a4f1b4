#include "decoder/cli/prepare_outputs.h"

#include <algorithm>

#include "decoder/base/errors.h"
#include "decoder/base/os/system_failure.h"

namespace headroom {

MadeFolders::~MadeFolders() {
  std::error_code not_empty;
  for (size_t i = made_.size(); i-- > 0;) std::filesystem::remove(made_[i].folder, not_empty);
}

std::error_code MadeFolders::make(const std::filesystem::path& folder) {
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return {};
  // For "a/b/", parent_path() returns "a/b".
  if (!folder.has_filename()) return make(folder.parent_path());
  if (const std::error_code why = make(folder.parent_path())) return why;
  made_.push_back({folder, std::make_unique<RemovedOnSignal>(folder, RemovedOnSignal::What::empty_folder)});
  if (std::filesystem::create_directory(folder, error)) return {};
  made_.pop_back();
  // Another process may have created the folder, or it is a link to a folder. If is_directory() fails, its
  // kind is unknown.
  std::error_code unseen;
  if (std::filesystem::is_directory(folder, unseen)) return {};
  if (error) return error;
  return unseen ? unseen : std::make_error_code(std::errc::file_exists);
}

namespace {

/// Throws InputError if a file is in the way, otherwise the error that fits the error code.
void require_made(const std::string& what, const std::error_code& why) {
  if (why == std::errc::file_exists) throw InputError(what + ": a file is in its place");
  if (why) fail_by_errno(what, why.value());
}

void require_folder(const std::string& output, const std::filesystem::path& folder) {
  if (folder.empty() || is_there(folder)) return;  // a file in its place is reported later, when it is used
  throw InputError(output + ": there is no folder " + folder.string() + "; make it first: mkdir -p " +
                   folder.string());
}

}  // namespace

MadeFolders prepare_outputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs,
                            MissingFolders missing) {
  require_apart(outputs, inputs);
  MadeFolders made;
  for (const NamedFile& output : outputs) {
    if (output.file.empty() || is_stream(output.file)) continue;
    const std::filesystem::path path = output.file;
    // For a folder of frames, "frames/", use its parent.
    std::filesystem::path named = path.has_filename() ? path : path.parent_path();
    if (!output.may_be_folder || named.has_extension()) named = output_target(named).path;
    if (missing == MissingFolders::refuse)
      require_folder(output.option + " " + output.file, named.parent_path());
    require_made(output.file + ": its folder cannot be made", made.make(named.parent_path()));
  }
  return made;
}

MadeFolders make_output_folder(const std::filesystem::path& folder) {
  MadeFolders made;
  const std::filesystem::path named = folder.has_filename() ? folder : folder.parent_path();
  require_folder("-o " + folder.string(), named.parent_path());
  require_made(folder.string() + ": the folder cannot be made", made.make(folder));
  return made;
}

std::ostream& message_stream(const std::vector<std::string>& outputs, std::ostream& out, std::ostream& err) {
  const bool taken = std::any_of(outputs.begin(), outputs.end(),
                                 [](const std::string& output) { return is_standard_output(output); });
  return taken ? err : out;
}

}  // namespace headroom
