#include "planner/program/solve_ranks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "decoder/plan/file_limits.h"
#include "decoder/plan/plan_file.h"
#include "planner/answer/planner.h"
#include "planner/program/request_options.h"
#include "planner/search/make_plan.h"

namespace headroom::planner {
namespace {

using nlohmann::json;

/// Largest limit among the ranks of the smallest plan.
int64_t smallest_rank_limit(const Problem& problem, const Ranks& ranks) {
  int64_t most = 0;
  for (const Plan& own : smallest_plans(problem, ranks).plans) most = std::max(most, own.limit_bytes);
  return most;
}

std::string refusal(const Request& request, const std::vector<int64_t>& limits, int64_t smallest) {
  const int64_t least = *std::min_element(limits.begin(), limits.end());
  return std::to_string(request.width_pixels) + "x" + std::to_string(request.height_pixels) + " by " +
         std::to_string(limits.size()) + (limits.size() == 1 ? " rank" : " ranks") + " does not fit " +
         format_bytes(least) + " each; the smallest limit for each rank that works is " +
         format_bytes(smallest) + " (" + std::to_string(smallest) + " bytes)";
}

std::string rank_table(const Plans& plan) {
  std::string text = "rank  latent rows       peak      limit       sent\n";
  for (size_t rank = 0; rank < plan.plans.size(); ++rank) {
    const Plan& own = plan.plans[rank];
    const Interval& rows = own.share.latent_rows;
    const std::string range =
        rows.length() == 0 ? "none" : std::to_string(rows.begin) + " to " + std::to_string(rows.end);
    char line[160];
    std::snprintf(line, sizeof line, "%4zu  %-12s %10s %10s %10s\n", rank, range.c_str(),
                  format_bytes(own.predicted_peak_bytes).c_str(), format_bytes(own.limit_bytes).c_str(),
                  format_bytes(plan.sent[rank].total()).c_str());
    text += line;
  }
  return text;
}

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

Link RankOptions::link_between(const DeviceRecord& device) const {
  if (link.empty()) return device.link;
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
                                            const DeviceRecord& device) const {
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

Plans plan_ranks(const Model& model, const Question& question, const RankOptions& options,
                 const std::string& limit) {
  const Request& request = question.request;
  const std::vector<int32_t> counts = options.counts();
  if (counts.size() != 1) throw InputError("--ranks: expected one number; frontier takes several");
  const DeviceRecord& device = device_record(request.device);
  const Ranks ranks{counts[0], options.link_between(device)};
  const std::vector<int64_t> limits = options.limits_of(ranks.count, limit, device);
  const Planner planner(model, question);
  const Problem problem = planner.problem();
  std::optional<Plans> plan = make_plans(problem, ranks, limits);
  if (!plan) {
    const int64_t smallest = smallest_rank_limit(problem, ranks);
    throw RanksDoNotFit(refusal(request, limits, smallest), limits, smallest);
  }
  planner.check_range(plan->plans.front());
  if (plan->transfers.size() > kMostTransfers) {
    throw InputError("--ranks: " + std::to_string(ranks.count) + " ranks of this decoder hand over " +
                     std::to_string(plan->transfers.size()) + " times; a plan has at most " +
                     std::to_string(kMostTransfers));
  }
  return std::move(*plan);
}

std::string ranks_summary(const std::string& named, const Plans& plan) {
  const Plan& first = plan.plans.front();
  return named + std::to_string(plan.plans.size()) + (plan.plans.size() == 1 ? " rank, " : " ranks, ") +
         format_seconds(plan.predicted_seconds) + (first.assumed ? " by assumed costs, " : ", ") +
         std::to_string(first.passes.size()) + " passes, " + std::to_string(first.kept.size()) +
         " kept tensors, link of " + format_bytes(int64_t(plan.link.bytes_per_second)) + "/s and " +
         format_seconds(plan.link.seconds) + "\n" + rank_table(plan);
}

json to_json(const RanksDoNotFit& refused) {
  return {{"fits", false},
          {"limits_bytes", refused.limits_bytes},
          {"smallest_limit_bytes", refused.smallest_limit_bytes}};
}

void compare_ranks(const RequestOptions& asked, const RankOptions& options, bool as_json, std::ostream& out) {
  const Model model = asked.resolved_model();
  const Planner planner(model, asked.question(model, asked.picture_size()));
  const Problem problem = planner.problem();
  const Link link = options.link_between(device_record(problem.request.device));
  std::string text = "ranks     fastest  peak per rank        sent  smallest limit per rank\n";
  json list = json::array();
  for (const int32_t count : options.counts()) {
    const Ranks ranks{count, link};
    const std::vector<int64_t> none(static_cast<size_t>(count), std::numeric_limits<int64_t>::max());
    const Plans fastest = make_plans(problem, ranks, none).value();
    const int64_t smallest = smallest_rank_limit(problem, ranks);
    char line[160];
    std::snprintf(line, sizeof line, "%5d  %10s  %13s  %10s  %23s\n", count,
                  format_seconds(fastest.predicted_seconds).c_str(),
                  format_bytes(fastest.peak_bytes()).c_str(), format_bytes(fastest.sent_bytes()).c_str(),
                  format_bytes(smallest).c_str());
    text += line;
    list.push_back({{"ranks", count},
                    {"seconds", fastest.predicted_seconds},
                    {"peak_bytes", fastest.peak_bytes()},
                    {"sent_bytes", fastest.sent_bytes()},
                    {"smallest_limit_bytes", smallest}});
  }
  out << (as_json ? list.dump(2) + "\n" : text);
}

}  // namespace headroom::planner
