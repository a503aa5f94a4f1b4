#include "decoder/base/os/control_groups.h"

#include <algorithm>
#include <string>
#include <vector>

#include "decoder/base/os/system_file.h"
#include "decoder/base/text_streams.h"

namespace headroom {
namespace {

using std::filesystem::path;

/// Larger values mean "no limit". Version 1 reports that as about 2^63.
constexpr int64_t kNoLimit = int64_t{1} << 60;

struct Hierarchy {
  bool version_2 = false;
  bool memory = false, processors = false;  ///< controllers of this hierarchy that matter here
  path group;                               ///< this process's group, relative to the hierarchy's root
};

struct Mount {
  path root;  ///< group that is mounted at `folder`
  path folder;
};

TextReader reader_of(const path& file) {
  return TextReader(text_of_system_file(file).value_or(""));
}

bool has_word(const std::string& list, const std::string& word) {
  TextReader words(list);
  for (std::string each; std::getline(words, each, ',');) {
    if (each == word) return true;
  }
  return false;
}

/// Parses lines of /proc/self/cgroup: "4:memory:/job", "0::/job".
std::vector<Hierarchy> own_hierarchies(const path& root) {
  std::vector<Hierarchy> found;
  TextReader lines = reader_of(root / "proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    Hierarchy hierarchy;
    hierarchy.version_2 = controllers.empty();
    hierarchy.memory = hierarchy.version_2 || has_word(controllers, "memory");
    hierarchy.processors = hierarchy.version_2 || has_word(controllers, "cpu");
    hierarchy.group = line.substr(second + 1);
    if (hierarchy.memory || hierarchy.processors) found.push_back(hierarchy);
  }
  return found;
}

/// Decodes the octal escapes of mountinfo: a space is "\040".
std::string without_escapes(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '\\' && i + 3 < text.size() &&
        std::all_of(text.begin() + static_cast<long>(i) + 1, text.begin() + static_cast<long>(i) + 4,
                    [](char digit) { return digit >= '0' && digit <= '7'; });
    if (!escape) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return plain;
}

/// Finds the hierarchy's mount. A line of mountinfo: number, parent, device, root, mount point, options,
/// tags (any number), "-", type, source, file system options. The latter name a version 1 hierarchy's
/// controllers.
std::optional<Mount> mount_of(const Hierarchy& hierarchy, const path& root) {
  TextReader lines = reader_of(root / "proc/self/mountinfo");
  for (std::string line; std::getline(lines, line);) {
    TextReader words(line);
    std::string word, from, folder, type, source, options;
    words >> word >> word >> word >> from >> folder;
    while (words >> word && word != "-") {
    }
    words >> type >> source >> options;
    const bool is_it = hierarchy.version_2
                           ? type == "cgroup2"
                           : type == "cgroup" && (has_word(options, "memory") == hierarchy.memory) &&
                                 (has_word(options, "cpu") == hierarchy.processors);
    if (is_it) return Mount{without_escapes(from), without_escapes(folder)};
  }
  return std::nullopt;
}

/// Folders of the process's group and its parents, up to the highest one visible here.
std::vector<path> folders_of(const Hierarchy& hierarchy, const path& root) {
  const std::optional<Mount> mount = mount_of(hierarchy, root);
  if (!mount) return {};
  const path top = root / mount->folder.relative_path();
  const path below = hierarchy.group.lexically_relative(mount->root);
  std::vector<path> folders{top};
  // In a container, the own group may be mounted as the root, while its name is the host's.
  if (below.empty() || *below.begin() == ".." || below == ".") return folders;
  for (const path& part : below) folders.push_back(folders.back() / part);
  return folders;
}

std::optional<int64_t> number_in(const path& file) {
  TextReader in = reader_of(file);
  int64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;  // also "max"
}

/// Returns the number after `word` in a file of "word 123" lines.
int64_t figure_after(const path& file, const std::string& word) {
  TextReader lines = reader_of(file);
  std::string name;
  for (int64_t value = 0; lines >> name >> value;) {
    if (name == word) return value;
  }
  return 0;
}

template <typename T>
void take_less(std::optional<T>& least, const std::optional<T>& other) {
  if (other && (!least || *other < *least)) least = other;
}

std::optional<int64_t> memory_in(const path& group) {
  std::optional<int64_t> limit;
  for (const char* file : {"memory.max", "memory.high", "memory.limit_in_bytes"}) {
    const std::optional<int64_t> found = number_in(group / file);
    if (found && *found < kNoLimit) take_less(limit, found);
  }
  return limit;
}

std::optional<int64_t> free_memory_in(const path& group, bool version_2) {
  const std::optional<int64_t> limit = memory_in(group);
  const std::optional<int64_t> used =
      number_in(group / (version_2 ? "memory.current" : "memory.usage_in_bytes"));
  if (!limit || !used) return std::nullopt;
  // In version 1, inactive_file covers this group only, but the usage includes its subgroups.
  const int64_t given_back =
      figure_after(group / "memory.stat", version_2 ? "inactive_file" : "total_inactive_file");
  return *limit - std::max<int64_t>(0, *used - given_back);
}

std::optional<double> processors_in(const path& group, bool version_2) {
  if (version_2) {
    TextReader in = reader_of(group / "cpu.max");  // "150000 100000", "max 100000"
    double quota = 0, period = 0;
    if (in >> quota >> period && quota > 0 && period > 0) return quota / period;
    return std::nullopt;
  }
  const std::optional<int64_t> quota = number_in(group / "cpu.cfs_quota_us");  // -1 for none
  const std::optional<int64_t> period = number_in(group / "cpu.cfs_period_us");
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

ControlGroups own_control_groups(const path& root) {
  ControlGroups least;
  for (const Hierarchy& hierarchy : own_hierarchies(root)) {
    for (const path& group : folders_of(hierarchy, root)) {
      if (hierarchy.memory) take_less(least.memory_bytes, memory_in(group));
      if (hierarchy.memory) take_less(least.free_memory_bytes, free_memory_in(group, hierarchy.version_2));
      if (hierarchy.processors) take_less(least.processors, processors_in(group, hierarchy.version_2));
    }
  }
  return least;
}

}  // namespace headroom
