#include "planner/answer/learnt.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "decoder/base/json_fields.h"
#include "decoder/base/os/open_file.h"
#include "decoder/base/os/whole_file.h"
#include "decoder/cpu/loops/loops.h"

namespace headroom::planner {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr int64_t kMostFileBytes = int64_t{1} << 20;
constexpr size_t kMostGroups = 16;      ///< that the file keeps, since each decode reads and writes them
constexpr size_t kMostGroupsRead = 64;  ///< files of earlier programs have more
constexpr size_t kMostRatios = 5;       ///< decodes that a group keeps, the last ones
/// Shorter decodes measure the start of threads and kernels.
constexpr double kLeastSeconds = 0.01;
/// Ratios beyond these come from a broken clock or a suspended machine.
constexpr double kLeastRatio = 0.01, kMostRatio = 100;

/// Decodes that share a ratio.
struct Group {
  std::string machine, device, kind, dtype, version, work;
  std::vector<double> ratios{};  ///< the newest last

  auto key() const { return std::tie(machine, device, kind, dtype, version, work); }
  /// True if plans for one group may use the ratios of the other, if they are of the same device.
  bool serves(const Group& other) const {
    return std::tie(machine, kind, dtype, version) ==
           std::tie(other.machine, other.kind, other.dtype, other.version);
  }
};

Group group_of(const Request& request) {
  return {.machine = processor_name(),
          .device = {},
          .kind = name_of(request.device),
          .dtype = name_of(request.dtype) + std::string(after_dtype(request.tf32)),
          .version = HEADROOM_VERSION,
          .work = name_of(request.direction) + (" " + request.model) + (request.frames > 1 ? ", clips" : "")};
}

/// Groups of the file, the one with the newest decode last.
std::vector<Group> read_groups(const std::filesystem::path& file) {
  const ReadOnlyFile in(file);  // stays whole if another process replaces the file meanwhile
  if (in.bytes() > kMostFileBytes) throw InputError(file.string() + ": too large");
  std::string text(static_cast<size_t>(in.bytes()), ' ');
  in.read_at(0, text.data(), in.bytes());
  const json document = parse_json(text, file.string());
  const JsonFields fields(document, file.string());
  fields["version"].integer(kVersion, kVersion);
  std::vector<Group> groups;
  for (size_t i = 0; i < fields["groups"].size(kMostGroupsRead); ++i) {
    const JsonFields each = fields["groups"][i];
    Group& group =
        groups.emplace_back(Group{each["machine"].text(), each["device"].text(), each["kind"].text(),
                                  each["dtype"].text(), each["version"].text(), each["work"].text()});
    for (size_t k = 0; k < each["ratios"].size(kMostRatios); ++k) {
      const double ratio = each["ratios"][k].nonzero();
      if (ratio < kLeastRatio || ratio > kMostRatio) each["ratios"][k].fail("expected a ratio of seconds");
      group.ratios.push_back(ratio);
    }
    if (group.ratios.empty()) each["ratios"].fail("expected a ratio of seconds, found none");
  }
  return groups;
}

/// Like read_groups(). Empty if there is no such file, or if it is damaged.
std::vector<Group> known_groups(const std::filesystem::path& file) {
  try {
    if (std::filesystem::exists(file)) return read_groups(file);
  } catch (const std::exception&) {
  }
  return {};
}

void write_groups(const std::filesystem::path& file, const std::vector<Group>& groups) {
  json list = json::array();
  for (const Group& group : groups) {
    list.push_back({{"machine", group.machine},
                    {"device", group.device},
                    {"kind", group.kind},
                    {"dtype", group.dtype},
                    {"version", group.version},
                    {"work", group.work},
                    {"ratios", group.ratios}});
  }
  const json document{{"version", kVersion}, {"groups", std::move(list)}};
  std::filesystem::create_directories(file.parent_path());
  write_file_whole(file, document.dump(1) + "\n");
}

/// The middle of the ratios, or the lower one of the two in the middle. Work of other programs only makes
/// decodes slower.
LearntSeconds middle_of(std::vector<double> ratios) {
  if (ratios.empty()) return {};
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>((ratios.size() - 1) / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return {static_cast<int32_t>(ratios.size()), *middle};
}

/// Measured over planned seconds of the passes. Loading weights is in neither, because a later decode of the
/// same process need not load them.
double ratio_of(const Plan& plan, const RunStats& measured) {
  double planned = 0, taken = -measured.output_wait_seconds;
  for (const Pass& pass : plan.passes) planned += pass.predicted_seconds / plan.learnt.ratio;
  for (const PassStats& pass : measured.passes) taken += pass.seconds;
  return planned > 0 && taken >= kLeastSeconds ? taken / planned : 0;
}

void note(const std::filesystem::path& file, const Plan& plan, const RunStats& measured, bool busy) {
  const double ratio = ratio_of(plan, measured);
  if (!(ratio >= kLeastRatio && ratio <= kMostRatio)) return;
  std::vector<Group> groups = known_groups(file);
  Group group = group_of(plan.request);
  group.device = measured.device;
  const auto known = std::find_if(groups.begin(), groups.end(),
                                  [&](const Group& each) { return each.key() == group.key(); });
  if (known != groups.end()) {
    if (busy && ratio >= middle_of(known->ratios).ratio) return;
    group.ratios = std::move(known->ratios);
    groups.erase(known);
  }
  if (group.ratios.size() == kMostRatios) group.ratios.erase(group.ratios.begin());
  group.ratios.push_back(ratio);
  if (groups.size() >= kMostGroups)
    groups.erase(groups.begin(), groups.end() - static_cast<std::ptrdiff_t>(kMostGroups - 1));
  groups.push_back(std::move(group));
  write_groups(file, groups);
}

}  // namespace

std::optional<std::filesystem::path> learnt_file() {
  const auto folder = [](const char* name) {
    const char* const text = std::getenv(name);
    return std::filesystem::path(text == nullptr ? "" : text);
  };
  const std::filesystem::path own = folder("HEADROOM_CACHE");
  if (own == "off") return {};
  if (own.is_absolute()) return own / "learnt.json";
  for (const std::filesystem::path& cache : {folder("XDG_CACHE_HOME"), folder("HOME") / ".cache"}) {
    if (cache.is_absolute()) return cache / "headroom" / "learnt.json";
  }
  return {};
}

LearntSeconds learnt_for(const Request& request) {
  const std::optional<std::filesystem::path> file = learnt_file();
  if (!file) return {};
  const Group asked = group_of(request);
  std::vector<Group> groups = known_groups(*file);
  std::erase_if(groups, [&](const Group& each) { return !each.serves(asked); });
  if (groups.empty()) return {};
  const std::string device = groups.back().device;
  std::vector<double> same_work, all;
  for (const Group& group : groups) {
    if (group.device != device) continue;
    if (group.work == asked.work) same_work = group.ratios;
    all.insert(all.end(), group.ratios.begin(), group.ratios.end());
  }
  return middle_of(same_work.empty() ? all : same_work);
}

bool machine_is_busy() {
  constexpr double kBusy = 1.5;
  double load = 0;
  const auto processors = double(std::max(1U, std::thread::hardware_concurrency()));
  return getloadavg(&load, 1) == 1 && load > kBusy * processors;
}

void learn(const Plan& plan, const RunStats& measured, bool busy) noexcept {
  try {
    const std::optional<std::filesystem::path> file = learnt_file();
    if (file && plan.assumed && plan.share.alone())
      note(*file, plan, measured, busy && device_record(plan.request.device).is_host);
  } catch (const std::exception&) {  // a full disk, or a folder that nobody may write
  }
}

}  // namespace headroom::planner
