#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <ostream>

#include "decoder/base/json_fields.h"
#include "profiler/profile/profile.h"

namespace headroom::profiler {

constexpr int64_t kProfileVersion = 3;

/// Writes "headroom.profile" (docs/formats.md).
nlohmann::json to_json(const Profile& profile);
/// Throws InputError naming the file and the key.
Profile profile_from_json(const JsonFields& file);
Profile read_profile(const std::filesystem::path& file);

/// An entry of a profile's `sizes`.
nlohmann::json to_json(const ProfiledSize& size);
ProfiledSize size_from_json(const JsonFields& entry);

/// One line per layer and size: layer, kind, width, height, activation, live, workspace, seconds, flops.
std::string layers_csv(const Profile& profile);

}  // namespace headroom::profiler
