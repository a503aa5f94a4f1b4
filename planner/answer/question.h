#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include "decoder/plan/plan.h"
#include "planner/search/problem.h"
#include "profiler/profile/profile.h"

namespace headroom::planner {

/// A limit that no decode reaches. Adding bytes to it cannot overflow.
constexpr int64_t kNoLimit = int64_t{1} << 60;

/// Frames, rows and columns of a picture or clip, and its batch.
struct PictureSize {
  Extent extent{};
  int64_t batch = 1;
  auto key() const { return std::tuple(batch, extent.t, extent.y, extent.x); }
};

/// One question to the planner, as a value: a decode or encode, its limits, and the costs to plan with.
struct Question {
  Request request{};
  PlanOptions options{.thrift = kDefaultThrift};       ///< limits and search time
  std::shared_ptr<const profiler::Profile> profile{};  ///< measured costs; null: stated assumptions
  std::string profile_file{};                          ///< names the profile in messages
  bool other_environment = false;  ///< accept a profile of another processor than this machine's
  /// The decode is one of several that one process runs one after another.
  bool one_of_several = false;
};

/// Takes the profile in `file` as the question's costs. Does nothing if `file` is empty. Throws InputError.
void set_profile(Question& question, const std::string& file);

/// Free bytes of the disk of a scratch folder. Throws InputError if the folder does not exist.
int64_t free_disk_bytes(const std::string& scratch_folder);

}  // namespace headroom::planner
