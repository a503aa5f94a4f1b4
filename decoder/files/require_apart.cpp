#include "decoder/files/require_apart.h"

#include <compare>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/os/output_target.h"
#include "decoder/base/os/system_failure.h"
#include "decoder/families/load_model.h"
#include "decoder/graph/model.h"

namespace headroom {
namespace {

using std::filesystem::path;

/// Identity of a file, equal for all its names. A missing file is identified by its nearest existing parent
/// and the rest of the path.
struct Identity {
  FileIdentity file = {};
  std::string missing;

  auto operator<=>(const Identity&) const = default;
};

path unique_name(const path& file) {
  std::error_code error;
  path unique = std::filesystem::weakly_canonical(std::filesystem::absolute(file), error);
  if (error && is_system_failure(error.value())) fail_by_errno(file.string(), error.value());
  if (error) unique = std::filesystem::absolute(file).lexically_normal();
  return unique.has_filename() ? unique : unique.parent_path();
}

Identity identity_of(const path& file) {
  Identity identity;
  path there = unique_name(file);
  for (;; there = there.parent_path()) {
    if (const auto found = identity_at(there, file)) {
      identity.file = *found;
      return identity;
    }
    if (!there.has_relative_path()) return identity;
    identity.missing = "/" + there.filename().string() + identity.missing;
  }
}

/// True for files that belong to a model. Other files in its folder, such as plans and pictures, are not
/// inputs.
bool is_of_model(const std::string& name) {
  const bool is_index = name.ends_with(".json") && name.find(".index.") != std::string::npos;
  return is_index || name == "config.json" || name == "model_index.json" || name.ends_with(".safetensors");
}

std::vector<path> files_of_model(const path& folder) {
  std::vector<path> files;
  for (const std::string& name : names_in_folder(folder)) {
    if (is_of_model(name)) files.push_back(folder / name);
  }
  return files;
}

class Inputs {
 public:
  explicit Inputs(const std::vector<NamedFile>& inputs) {
    for (const NamedFile& input : inputs) {
      if (!input.file.empty() && is_there(input.file)) add(input);
    }
  }
  void require_apart_from(const Identity& identity, const NamedFile& output) const;

 private:
  void add(const NamedFile& input) {
    read_.emplace(identity_of(input.file), &input);
    const path file = input.file;
    if (!is_folder_at(file)) {
      if (input.option == "--model") add_file_of(input, path(file).replace_filename("config.json"));
      return;
    }
    const path vae = model_folder(file);
    for (const path& other : files_of_model(file)) add_file_of(input, other);
    if (vae == file) return;
    for (const path& other : files_of_model(vae)) add_file_of(input, other);
  }
  void add_file_of(const NamedFile& input, const path& file) {
    if (is_there(file)) read_with_.emplace(identity_of(file), &input);
  }
  /// read_: files that the user named. read_with_: other files of named models.
  std::map<Identity, const NamedFile*> read_, read_with_;
};

[[noreturn]] void refuse(const NamedFile& output, const std::string& what, const NamedFile& other) {
  throw InputError(output.option + " " + output.file + ": " + what + " " + other.option + " " + other.file);
}

void Inputs::require_apart_from(const Identity& identity, const NamedFile& output) const {
  if (const auto input = read_.find(identity); input != read_.end())
    refuse(output, "would overwrite the input of", *input->second);
  if (const auto input = read_with_.find(identity); input != read_with_.end())
    refuse(output, "would overwrite a file of", *input->second);
}

/// Rejects an output inside a folder that is itself an output: frames/ and frames/stats.json.
void require_not_inside(const path& output, const NamedFile& named,
                        const std::map<Identity, const NamedFile*>& written) {
  for (path above = unique_name(output).parent_path(); above.has_relative_path();
       above = above.parent_path()) {
    const auto around = written.find(identity_of(above));
    if (around != written.end()) refuse(named, "lies inside", *around->second);
  }
}

}  // namespace

void require_apart(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs) {
  const Inputs read(inputs);
  std::map<Identity, const NamedFile*> written;
  std::vector<std::pair<path, const NamedFile*>> files;
  for (const NamedFile& output : outputs) {
    if (output.file.empty()) continue;
    const bool printed = is_standard_output(output.file);
    if (is_stream(output.file) && !printed) continue;
    const path file = printed ? path() : file_behind_links(output.file);
    const Identity identity = printed ? Identity{.missing = "-"} : identity_of(file);
    const auto [other, is_new] = written.emplace(identity, &output);
    if (!is_new) refuse(output, "expected another file than", *other->second);
    read.require_apart_from(identity, output);
    if (!printed) files.emplace_back(file, &output);
  }
  for (const auto& [file, output] : files) require_not_inside(file, *output, written);
}

}  // namespace headroom
