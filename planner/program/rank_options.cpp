#include "planner/program/rank_options.h"

#include <cmath>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/text_streams.h"
#include "decoder/plan/file_limits.h"
#include "planner/program/limit_argument.h"

namespace headroom::planner {
namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  TextReader in(list);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  if (list.empty() || list.back() == ',') parts.push_back("");
  return parts;
}

int32_t rank_count(const std::string& text) {
  int64_t count = 0;
  size_t used = 0;
  try {
    count = std::stoll(text, &used);
  } catch (const std::exception&) {
  }
  if (used != text.size() || count < 1 || count > kMostRanks) {
    throw InputError("--ranks: expected a number from 1 to " + std::to_string(kMostRanks) + ", found '" +
                     text + "'");
  }
  return static_cast<int32_t>(count);
}

}  // namespace

void RankOptions::add_to(CLI::App& app, const char* ranks_help) {
  app.add_option("--ranks", ranks, ranks_help);
  app.add_option("--link", link, kLinkHelp);
}

std::vector<int32_t> RankOptions::counts() const {
  std::vector<int32_t> counts;
  for (const std::string& part : split(ranks)) counts.push_back(rank_count(part));
  return counts;
}

Link RankOptions::link_between(DeviceKind device) const {
  if (link.empty()) return device_record(device).link;
  const std::vector<std::string> parts = split(link);
  Link parsed;
  size_t used = 0;
  if (parts.size() == 2) {
    parsed.bytes_per_second = double(parse_bytes(parts[0], "--link"));
    try {
      parsed.seconds = std::stod(parts[1], &used);
    } catch (const std::exception&) {
    }
  }
  if (parts.size() != 2 || used == 0 || used != parts[1].size() || !(parsed.bytes_per_second > 0) ||
      !(parsed.seconds >= 0) || !std::isfinite(parsed.seconds)) {
    throw InputError("--link: expected BYTES/S,SECONDS such as 12GB,20e-6, found '" + link + "'");
  }
  return parsed;
}

std::vector<int64_t> RankOptions::limits_of(int32_t count, const std::string& limit,
                                            DeviceKind device) const {
  if (limits.empty()) return std::vector<int64_t>(static_cast<size_t>(count), limit_from(limit, device));
  std::vector<int64_t> parsed;
  for (const std::string& part : split(limits)) parsed.push_back(parse_bytes(part, "--rank-limit"));
  if (parsed.size() == 1) parsed.resize(static_cast<size_t>(count), parsed[0]);
  if (parsed.size() != static_cast<size_t>(count)) {
    throw InputError("--rank-limit: expected one for all or one for each of the " + std::to_string(count) +
                     " ranks, found " + std::to_string(parsed.size()));
  }
  return parsed;
}

}  // namespace headroom::planner
