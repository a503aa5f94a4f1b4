#pragma once

namespace headroom {

/// Number of processors that this process may run on, by cpuset or affinity. At least 1.
int allowed_processors();

/// Number of threads worth starting: one per allowed processor, or fewer if the control group's CPU quota is
/// lower. At least 1.
int useful_threads(int allowed, double quota_processors);
/// Useful threads for this process.
int useful_threads();

/// Threads that may run beside the decoding thread, for example to compress a picture. It is
/// useful_threads(), or the user's limit if lower.
int helper_threads();
/// Sets the user's limit on helper_threads().
void limit_helper_threads(int most);

}  // namespace headroom
