#pragma once

#include <filesystem>
#include <optional>

#include "decoder/plan/plan.h"
#include "decoder/plan/stats.h"

// Predictions learn from decodes. After each decode, the ratio of measured to planned seconds goes to a small
// file of the user, and later plans on this machine multiply their seconds by it. It is one number for all
// kinds of work, so it changes neither the choice of a plan nor a proof.
namespace headroom::planner {

/// File of measured ratios: `learnt.json` in the folder HEADROOM_CACHE, else in `headroom` of XDG_CACHE_HOME
/// or ~/.cache. Empty if HEADROOM_CACHE is `off`, or if the user has no folder.
std::optional<std::filesystem::path> learnt_file();

/// Ratio for plans of this request by assumed costs. It is the lower median of the last decodes in this dtype
/// on the device that decoded last, so a decode that other programs slowed down counts for little. Decodes of
/// the same model count alone if there are any. Returns no decodes if none were measured, or if the file
/// cannot be read.
LearntSeconds learnt_for(const Request& request);

/// True if programs want at least half more processors than the machine has, by its load of the last minute.
bool machine_is_busy();

/// Notes a finished decode. Plans by a profile teach nothing. On the CPU of a busy machine a decode teaches
/// only if it is the first one, or if it was faster than the ratio says. Errors are ignored, because a decode
/// must not fail for it. Several processes may note decodes at a time: each replaces the file as a whole.
void learn(const Plan& plan, const RunStats& measured, bool busy = machine_is_busy()) noexcept;

}  // namespace headroom::planner
