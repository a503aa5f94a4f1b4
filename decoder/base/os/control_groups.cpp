#include "decoder/base/os/control_groups.h"

#include <algorithm>
#include <string>
#include <vector>

#include "decoder/base/os/whole_file.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

using std::filesystem::path;

TextReader reader_of(const path& file) {
  return TextReader(text_of_system_file(file).value_or(""));
}

/// This process's group, relative to the hierarchy's root: "0::/job" in /proc/self/cgroup.
std::optional<path> own_group(const path& root) {
  TextReader lines = reader_of(root / "proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return std::nullopt;
}

struct Mount {
  path group;  ///< group that is mounted at `folder`
  path folder;
};

/// A line of mountinfo: number, parent, device, root, mount point, options, tags (any number), "-", type.
std::optional<Mount> mount_of_groups(const path& root) {
  TextReader lines = reader_of(root / "proc/self/mountinfo");
  for (std::string line; std::getline(lines, line);) {
    TextReader words(line);
    std::string word, group, folder, type;
    words >> word >> word >> word >> group >> folder;
    while (words >> word && word != "-") {
    }
    words >> type;
    if (type == "cgroup2") return Mount{group, folder};
  }
  return std::nullopt;
}

/// Folders of the process's group and its parents, up to the highest one visible here.
std::vector<path> folders_of_groups(const path& root) {
  const std::optional<path> group = own_group(root);
  const std::optional<Mount> mount = mount_of_groups(root);
  if (!group || !mount) return {};
  std::vector<path> folders{root / mount->folder.relative_path()};
  const path below = group->lexically_relative(mount->group);
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
  for (const char* file : {"memory.max", "memory.high"}) take_less(limit, number_in(group / file));
  return limit;
}

std::optional<int64_t> free_memory_in(const path& group) {
  const std::optional<int64_t> limit = memory_in(group), used = number_in(group / "memory.current");
  if (!limit || !used) return std::nullopt;
  const int64_t given_back = figure_after(group / "memory.stat", "inactive_file");
  return *limit - std::max<int64_t>(0, *used - given_back);
}

std::optional<double> processors_in(const path& group) {
  TextReader in = reader_of(group / "cpu.max");  // "150000 100000", "max 100000"
  double quota = 0, period = 0;
  if (in >> quota >> period && quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

}  // namespace

ControlGroups own_control_groups(const path& root) {
  ControlGroups least;
  for (const path& group : folders_of_groups(root)) {
    take_less(least.memory_bytes, memory_in(group));
    take_less(least.free_memory_bytes, free_memory_in(group));
    take_less(least.processors, processors_in(group));
  }
  return least;
}

}  // namespace headroom
