#pragma once

#include <filesystem>
#include <string>

namespace headroom::reports {

/// What messages about other files end with.
inline const std::string kOpenedHere =
    "opened here are Headroom's plans, statistics, traces, profiles, recorded decodes and frontiers (.json), "
    "and PyTorch's memory snapshots (.pickle)";

/// What a file seems to be by its first bytes, in words: "a picture (PNG)", "an empty file". Empty where it
/// may be JSON, and where it cannot be read.
std::string seems_to_be(const std::filesystem::path& file);

/// Throws InputError where the file is no JSON object, in one line: what it seems to be, and what is opened.
void require_json_object(const std::filesystem::path& file);

}  // namespace headroom::reports
