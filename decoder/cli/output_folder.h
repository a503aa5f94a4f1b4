#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace headroom {

/// Makes the folders of these output files where they are missing; empty names are none. Throws InputError
/// naming the file where one cannot be made.
void make_folders_of(const std::vector<std::string>& files);

/// Makes a folder for outputs where it is missing. Throws InputError naming it.
void make_output_folder(const std::filesystem::path& folder);

}  // namespace headroom
