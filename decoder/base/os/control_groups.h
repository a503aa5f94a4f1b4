#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace headroom {

/// Limits that control groups of version 2 set for this process. Containers, systemd services and batch
/// systems use them. A group's limit is shared by all processes in it. Parent groups have limits too, and the
/// tightest one counts.
///
///   /proc/self/cgroup      the process's group           0::/user.slice/job
///   /proc/self/mountinfo   where the groups are mounted
///
/// Source: the kernel's admin-guide/cgroup-v2.rst.
struct ControlGroups {
  /// The tightest limit, including memory in use.
  std::optional<int64_t> memory_bytes;
  /// Bytes left before a limit is reached. Negative if one is exceeded. Inactive file pages count as free,
  /// because the kernel reclaims them before it kills a process.
  std::optional<int64_t> free_memory_bytes;
  /// CPU quota in processors: 1.5 is the time of one and a half.
  std::optional<double> processors;
};

/// Reads the limits. A limit whose file cannot be read is left unset. `root` is for tests: a folder with
/// proc/ and the mounted hierarchies.
ControlGroups own_control_groups(const std::filesystem::path& root = "/");

}  // namespace headroom
