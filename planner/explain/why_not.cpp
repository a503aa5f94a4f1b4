#include "planner/explain/why_not.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "decoder/base/amounts.h"
#include "decoder/base/short_name.h"
#include "planner/explain/peak.h"
#include "planner/explain/remedy.h"
#include "planner/search/make_plan.h"

namespace headroom::planner {
namespace {

std::string mebibytes_up(int64_t bytes) {
  return std::to_string((bytes + kMiB - 1) / kMiB) + "MiB";
}

std::string words_of(const LiveEntry& blocker) {
  const bool is_tile = blocker.kind == MemoryKind::tile, works = blocker.kind == MemoryKind::workspace;
  return (is_tile ? "tiles of "
          : works ? "workspace of "
                  : "") +
         short_name(blocker.name) + " " + format_bytes(blocker.bytes);
}

/// Lists the largest blockers, and the sum of the others.
std::string held_words(const std::vector<LiveEntry>& blockers) {
  constexpr size_t kMostBlockers = 4;
  std::string text;
  int64_t left = 0;
  for (size_t i = 0; i < blockers.size(); ++i) {
    const bool named = i < kMostBlockers || blockers.size() == kMostBlockers + 1;
    if (named) text += (i > 0 ? ", " : " ") + words_of(blockers[i]);
    if (!named) left += blockers[i].bytes;
  }
  return left > 0 ? text + ", all else " + format_bytes(left) : text;
}

}  // namespace

WhyNot why_not(const Problem& problem, double seconds) {
  const double begun = own_seconds();
  const Spaces spaces = spaces_of(problem);
  const Plan plan = quick_smallest_plan(problem, spaces);
  const PlanPeak peak = peak_of_plan(plan, problem.model, problem.costs.memory());
  const double took = own_seconds() - begun;
  RemediesFound found =
      remedies_under_limit(problem, spaces, plan.limit_bytes, for_seconds(seconds - 2 * took));
  return {problem.options.limit_bytes,
          plan.limit_bytes,
          peak.pass,
          peak.pass_name,
          picture_bytes(problem.model.graph, problem.request),
          peak.live,
          std::move(found.remedies),
          std::move(found.not_looked_at)};
}

Plan plan_or_explain(const Problem& problem) {
  if (std::optional<Plan> plan = make_plan(problem)) return *std::move(plan);
  throw NothingFits(why_not(problem, kSecondsToLook), problem.request);
}

std::string returned_text(int64_t picture_bytes, const Request& request) {
  if (picture_bytes == 0) return "";
  const std::string one = encodes(request.direction) ? "latent" : request.frames > 1 ? "clip" : "picture";
  const std::string all = request.batch > 1
                              ? std::to_string(request.batch) + " " + one + "s that are returned"
                              : one + " that is returned";
  return ", of which " + format_bytes(picture_bytes) + " are the " + all;
}

std::string to_text(const WhyNot& why, const Request& request) {
  std::string text = std::to_string(request.width_pixels) + "x" + std::to_string(request.height_pixels) +
                     " does not fit " + format_bytes(why.limit_bytes) +
                     "; the smallest limit that works is " + mebibytes_up(why.smallest_limit_bytes) + " (" +
                     std::to_string(why.smallest_limit_bytes) + " bytes)" +
                     returned_text(why.picture_bytes, request);
  for (const Remedy& remedy : why.remedies) {
    text += "; with " + remedy.option + " it ";
    if (remedy.seconds) {
      text += "takes " + format_seconds(*remedy.seconds);
      if (remedy.needs_bytes) text += " and " + mebibytes_up(*remedy.needs_bytes) + " there";
    } else {
      text += "needs " + mebibytes_up(*remedy.smallest_limit_bytes);
    }
  }
  for (size_t i = 0; i < why.not_looked_at.size(); ++i)
    text += (i == 0 ? "; there was no time to look at " : ", ") + why.not_looked_at[i];
  text += ". Pass " + std::to_string(why.pass) + " (" + short_name(why.pass_name) +
          ") needs the most:" + held_words(why.blockers);
  return text;
}

nlohmann::json to_json(const WhyNot& why) {
  nlohmann::json blockers = nlohmann::json::array(), remedies = nlohmann::json::array();
  for (const LiveEntry& b : why.blockers)
    blockers.push_back({{"name", b.name}, {"what", key_of(b.kind)}, {"bytes", b.bytes}});
  for (const Remedy& r : why.remedies) {
    nlohmann::json entry{{"change", r.option}, {"fits", r.seconds.has_value()}};
    if (r.seconds) entry["seconds"] = *r.seconds;
    if (r.needs_bytes) entry["needs_bytes"] = *r.needs_bytes;
    if (r.smallest_limit_bytes) entry["smallest_limit_bytes"] = *r.smallest_limit_bytes;
    remedies.push_back(std::move(entry));
  }
  nlohmann::json json{{"fits", false},
                      {"limit_bytes", why.limit_bytes},
                      {"smallest_limit_bytes", why.smallest_limit_bytes},
                      {"pass", why.pass},
                      {"pass_name", why.pass_name},
                      {"picture_bytes", why.picture_bytes},
                      {"blockers", std::move(blockers)},
                      {"relaxations", std::move(remedies)}};
  if (!why.not_looked_at.empty()) json["not_looked_at"] = why.not_looked_at;
  return json;
}

}  // namespace headroom::planner
