#pragma once

#include <string>
#include <vector>

namespace headroom {

/// A file that the command line names: "--stats" and "stats.json".
struct NamedFile {
  std::string option;
  std::string file;            ///< empty: the option was not given
  bool may_be_folder = false;  ///< of an output: without a suffix, it is a folder of frames
};

/// Refuses outputs that would overwrite each other or an input. Files are compared by device and inode, so
/// other spellings, links and hard links count. Streams other than the standard output may be named twice.
/// An input that is a model counts with all files that it is read from: the config, the weights, their index
/// and their shards, of a pipeline's folder those in vae/. Throws InputError naming both.
void require_apart(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs);

}  // namespace headroom
