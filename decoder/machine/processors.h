#pragma once

namespace headroom {

/// Processors that this process may run on: a cpuset's, or those that it was bound to. At least 1.
int allowed_processors();

/// Threads that are worth starting: one for each allowed processor, fewer where a control group's quota gives
/// less time than that. At least 1.
int useful_threads(int allowed, double quota_processors);
/// Useful threads for this process.
int useful_threads();

/// Threads that may run beside the one that decodes, such as those that compress a picture: useful_threads(),
/// or fewer where the user asked for fewer.
int helper_threads();
/// `most` is what the user asked for.
void limit_helper_threads(int most);

}  // namespace headroom
