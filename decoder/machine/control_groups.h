#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace headroom {

/// What the control groups of this process leave it, of version 1 and 2: containers, systemd's services and
/// batch systems limit a process by them. A group's limit holds for all in it, and the groups above have
/// limits too; the tightest rules.
///
///   /proc/self/cgroup      the process's group in each hierarchy       0::/user.slice/job
///   /proc/self/mountinfo   where the hierarchies are mounted, and from which group on
///
/// Source: the kernel's admin-guide/cgroup-v2.rst and admin-guide/cgroup-v1/memory.rst.
struct ControlGroups {
  /// The tightest limit, whoever uses it now.
  std::optional<int64_t> memory_bytes;
  /// Bytes that may still come before a limit is met, less than 0 where one is passed. Pages of files that
  /// are no longer in use count as free, since the kernel takes them before it ends a process.
  std::optional<int64_t> free_memory_bytes;
  /// Processors' worth of time, by quota: 1.5 is three halves of one.
  std::optional<double> processors;
};

/// Nothing is limited where the files cannot be read. `root` is for tests: a folder that has proc/ and what
/// is mounted.
ControlGroups own_control_groups(const std::filesystem::path& root = "/");

}  // namespace headroom
