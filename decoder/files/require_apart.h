#pragma once

#include <string>
#include <vector>

namespace headroom {

/// A file named on the command line, such as "--stats" and "stats.json".
struct NamedFile {
  std::string option;
  std::string file;            ///< empty if the option was not given
  bool may_be_folder = false;  ///< for an output: without a suffix, it is a folder of frames
};

/// Rejects outputs that would overwrite each other or an input. It compares files by device and inode, so
/// links, hard links and other spellings count. Streams other than standard output may be named twice. An
/// input that is a model includes all its files: config, weights, index, shards, and a pipeline's vae/
/// folder. Throws InputError naming both files.
void require_apart(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs);

}  // namespace headroom
