#include "gui/model/groundwork.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "decoder/base/errors.h"
#include "decoder/weights/open_model.h"

namespace headroom::gui {
namespace {

constexpr int64_t kAmple = std::numeric_limits<int64_t>::max();
constexpr double kSameSeconds = 1 + 1e-12;
/// Smallest ratio of two limits, or of two times, that a plot can show.
constexpr double kNarrowest = 1.002;

}  // namespace

void FoundPlans::add(int64_t limit_bytes, const planner::ConfigurationSearch& search) {
  if (!search.best) return;
  const std::lock_guard lock(mutex_);
  Entry& entry = by_peak_[search.best->solution.peak_bytes];
  if (search.in_time || !entry.search.best) entry.search = search;
  entry.limit_bytes = std::max(entry.limit_bytes, limit_bytes);
  if (search.in_time) entry.proven_limit_bytes = std::max(entry.proven_limit_bytes, limit_bytes);
}

void FoundPlans::set_smallest(const planner::SmallestLimit& smallest) {
  const std::lock_guard lock(mutex_);
  smallest_ = smallest;
}

const FoundPlans::Entry* FoundPlans::entry_below(int64_t limit_bytes) const {
  const auto next = by_peak_.upper_bound(limit_bytes);
  return next == by_peak_.begin() ? nullptr : &std::prev(next)->second;
}

std::optional<planner::ConfigurationSearch> FoundPlans::under(int64_t limit_bytes) const {
  const std::lock_guard lock(mutex_);
  if (smallest_ && limit_bytes < smallest_->bytes) return planner::ConfigurationSearch{};
  const Entry* entry = entry_below(limit_bytes);
  if (entry == nullptr || limit_bytes > entry->proven_limit_bytes) return std::nullopt;
  return entry->search;
}

std::optional<planner::ConfigurationSearch> FoundPlans::fitting(int64_t limit_bytes) const {
  const std::lock_guard lock(mutex_);
  const Entry* entry = entry_below(limit_bytes);
  return entry == nullptr ? std::nullopt : std::optional(entry->search);
}

std::optional<planner::SmallestLimit> FoundPlans::smallest() const {
  const std::lock_guard lock(mutex_);
  return smallest_;
}

std::vector<planner::FrontierPoint> FoundPlans::points() const {
  const std::lock_guard lock(mutex_);
  std::vector<planner::FrontierPoint> points;
  for (const auto& [peak, entry] : by_peak_) {
    // A smaller plan is as fast. A search returns any of several equally fast plans.
    if (!points.empty() && entry.seconds() * kSameSeconds >= points.back().seconds) continue;
    points.push_back({peak, entry.seconds(), entry.search.best->configuration});
  }
  std::reverse(points.begin(), points.end());
  return points;
}

std::optional<int64_t> FoundPlans::next_limit() const {
  const std::lock_guard lock(mutex_);
  if (const Entry* most = entry_below(kAmple); most == nullptr || most->limit_bytes < kAmple) return kAmple;
  if (smallest_ && by_peak_.begin()->first > smallest_->bytes) return smallest_->bytes;
  double widest = kNarrowest;
  std::optional<int64_t> middle;
  for (auto low = by_peak_.begin(); std::next(low) != by_peak_.end(); ++low) {
    const auto& [high_peak, high] = *std::next(low);
    const double first = double(low->second.limit_bytes) + 1, last = double(high_peak) - 1;
    // A plot shows nothing between two plans of equal speed.
    if (low->second.seconds() <= high.seconds() * kNarrowest || last / first <= widest) continue;
    widest = last / first;
    middle = static_cast<int64_t>(std::sqrt(first * last));
  }
  return middle;
}

bool same_but_limit(const PlanningQuestion& a, const PlanningQuestion& b) {
  const auto rest = [](const PlanningQuestion& q) {
    return std::tie(q.options.host_limit_bytes, q.options.scratch_limit_bytes, q.options.scratch_folder,
                    q.options.weights, q.options.thrift, q.profile);
  };
  return rest(a) == rest(b) && a.request == b.request;
}

Model model_of(const PlanningQuestion& question) {
  const Request& request = question.request;
  Model model = model_for(open_model(request.model), request);
  latent_extent(model, request.width_pixels, request.height_pixels, request.frames);
  if (request.batch < 1)
    throw InputError("--batch: expected at least 1, found " + std::to_string(request.batch));
  return model;
}

planner::Question asked_of(const PlanningQuestion& question) {
  planner::Question asked{
      .request = question.request, .options = question.options, .other_environment = true};
  if (question.profile) {
    asked.profile = {question.profile, question.profile->as<profiler::Profile>()};
    asked.profile_file = question.profile->file.string();
  }
  return asked;
}

Groundwork::Groundwork(const PlanningQuestion& question, std::shared_ptr<FoundPlans> found)
    : question_(question),
      model_(model_of(question)),
      planner_(model_, asked_of(question)),
      spaces_(planner::spaces_of(planner_.problem())),
      found_(std::move(found)) {}

planner::ConfigurationSearch Groundwork::search(int64_t limit_bytes, std::chrono::milliseconds time) const {
  if (const auto known = found_->under(limit_bytes)) return *known;
  planner::ConfigurationSearch search = planner::fastest_over(
      spaces_, question_.request, limit_bytes, {.deadline = std::chrono::steady_clock::now() + time});
  if (search.in_time) {
    found_->add(limit_bytes, search);
    return search;
  }
  // A plan found under another limit may be faster than the result of an unfinished search.
  const auto other = found_->fitting(limit_bytes);
  if (other && (!search.best || other->best->seconds < search.best->seconds)) search.best = other->best;
  if (search.best) search.bound_seconds = std::min(search.bound_seconds, search.best->seconds);
  return search;
}

planner::SmallestLimit Groundwork::smallest() const {
  if (const auto known = found_->smallest()) return *known;
  const planner::SmallestLimit smallest = planner::smallest_over(spaces_).smallest;
  found_->set_smallest(smallest);
  return smallest;
}

std::vector<planner::FrontierPoint> Groundwork::points() const {
  std::vector<planner::FrontierPoint> points = found_->points();
  for (planner::FrontierPoint& point : points) point.seconds *= planner_.costs().learnt().ratio;
  return points;
}

reports::DocumentPtr Groundwork::plan(const planner::ConfigurationSearch& search, int64_t limit_bytes,
                                      const planner::GapSearch& gaps) const {
  std::optional<Plan> plan = planner::finish_plan(problem_under(limit_bytes), spaces_, search, gaps);
  if (!plan) return nullptr;
  planner_.check_range(*plan);
  return std::make_shared<reports::Document>(
      reports::Document{{}, reports::PlanDocument{*std::move(plan), model_, question_.request.model}});
}

}  // namespace headroom::gui
