#include "planner/search/configurations.h"

#include <algorithm>

#include "decoder/base/errors.h"

namespace headroom::planner {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

/// True if no plan of `configuration` can be faster than the best so far. This requires that the limit did
/// not exclude anything from the best plan's search, and that both configurations agree. They may differ in
/// weight residency if the best plan's weights are resident, because weights per pass are loaded at least as
/// often.
bool cannot_be_faster(const Configuration& configuration, const ConfigurationSearch::Best& best) {
  const Configuration& other = best.configuration;
  const bool same_tiers = other.lower_tier == configuration.lower_tier &&
                          other.lower_limit_bytes == configuration.lower_limit_bytes;
  return !best.solution.limit_was_binding && other.micro_batch == configuration.micro_batch && same_tiers &&
         (other.weights == WeightResidency::resident || other.weights == configuration.weights);
}

double whole_batch(double micro_batch_seconds, const PlanSpace& space, const Request& request) {
  const double start = space.start_seconds();
  return start + (micro_batch_seconds - start) * double(request.batch / space.configuration().micro_batch);
}

std::shared_ptr<PassCatalog> catalog_of(const Problem& problem, int64_t micro_batch, const Spaces& alike) {
  for (const auto& space : alike) {
    const bool same = space->configuration().micro_batch == micro_batch &&
                      space->catalog()->is_of(problem.model, problem.request, problem.costs, problem.ranks);
    if (same) return space->catalog();
  }
  return std::make_shared<PassCatalog>(problem.model, problem.request, micro_batch, problem.costs,
                                       problem.ranks);
}

}  // namespace

Spaces spaces_of(const Problem& problem, const Spaces& alike) {
  const Request& request = problem.request;
  const PlanOptions& options = problem.options;
  const MemoryTier second_tier = device_record(request.device).second_tier;
  if (second_tier != MemoryTier::scratch && options.scratch_limit_bytes > 0) {
    throw InputError(
        "--scratch: not with --device cuda: kept tensors live on the device or, with --host-limit, in host "
        "memory");
  }
  for (const auto& [bytes, option] : {std::pair(options.host_limit_bytes, "--host-limit"),
                                      std::pair(options.scratch_limit_bytes, "--scratch")}) {
    if (!problem.ranks.alone() && bytes > 0) throw InputError(std::string(option) + ": not with --ranks");
  }
  if (second_tier != MemoryTier::host && options.host_limit_bytes > 0) {
    throw InputError(
        "--host-limit: not with --device cpu, whose memory is the host's: use --scratch FOLDER, or --device "
        "cuda");
  }
  std::vector<int64_t> micro_batches{request.batch};
  if (request.batch > 1) micro_batches.push_back(1);
  std::vector<WeightResidency> residencies{WeightResidency::resident, WeightResidency::per_pass};
  if (options.weights) residencies = {*options.weights};
  Spaces spaces;
  for (int64_t micro_batch : micro_batches) {
    const std::shared_ptr<PassCatalog> catalog = catalog_of(problem, micro_batch, alike);
    for (WeightResidency weights : residencies) {
      const auto add = [&](std::optional<MemoryTier> lower, int64_t limit) {
        spaces.push_back(
            std::make_unique<PlanSpace>(catalog, Configuration{micro_batch, weights, lower, limit}));
      };
      // A space with a lower tier contains the one without.
      if (options.host_limit_bytes > 0) add(MemoryTier::host, options.host_limit_bytes);
      if (options.scratch_limit_bytes > 0) add(MemoryTier::scratch, options.scratch_limit_bytes);
      if (options.host_limit_bytes <= 0 && options.scratch_limit_bytes <= 0) add({}, 0);
    }
  }
  return spaces;
}

namespace {

/// Searches the spaces one by one. Each search looks only for plans faster than the best so far.
class OverSpaces {
 public:
  OverSpaces(const Spaces& spaces, const Request& request, int64_t limit_bytes, const SearchLimits& limits)
      : spaces_(spaces), request_(request), limit_bytes_(limit_bytes), limits_(limits) {}

  /// Empty `weights`: all configurations.
  ConfigurationSearch run(std::optional<WeightResidency> weights) {
    // Find some plan in every configuration before proving any optimal.
    if (limits_.deadline && !weights) take_some();
    for (const auto& space : spaces_) {
      if (space->configuration().weights == weights.value_or(space->configuration().weights)) look_in(*space);
    }
    done_.bound_seconds = best() ? std::min(best()->seconds, unfinished_) : unfinished_;
    return std::move(done_);
  }

  /// Quickly finds one path in each space, and returns the best of them.
  std::optional<ConfigurationSearch::Best> some() {
    take_some();
    return std::move(best());
  }

 private:
  std::optional<ConfigurationSearch::Best>& best() { return done_.best; }

  void take_some() {
    for (const auto& space : spaces_) {
      if (auto solution = some_path(*space, limit_bytes_, limits_)) take(std::move(*solution), *space);
    }
  }

  /// Slower plans are useless.
  double cutoff() const { return done_.best ? done_.best->seconds : limits_.cutoff_seconds; }

  void take(Solution solution, const PlanSpace& space) {
    const double seconds = whole_batch(solution.seconds, space, request_);
    if (seconds < cutoff())
      best() = {std::move(solution), space.configuration(), space.start_seconds(), seconds};
  }

  void look_in(PlanSpace& space) {
    if (best() && cannot_be_faster(space.configuration(), *best())) return;
    const double start = space.start_seconds();
    const auto micro_batches = double(request_.batch / space.configuration().micro_batch);
    const double enough = start + (cutoff() - start) / micro_batches;
    SpaceSearch found = fastest(space, limit_bytes_, {limits_.deadline, enough, limits_.held_back_bytes});
    if (found.solution) take(std::move(*found.solution), space);
    if (found.in_time) return;
    done_.in_time = false;
    unfinished_ = std::min(unfinished_, whole_batch(found.bound_seconds, space, request_));
  }

  const Spaces& spaces_;
  const Request& request_;
  const int64_t limit_bytes_;
  const SearchLimits& limits_;
  ConfigurationSearch done_;
  double unfinished_ = kForever;
};

}  // namespace

ConfigurationSearch fastest_over(const Spaces& spaces, const Request& request, int64_t limit_bytes,
                                 const SearchLimits& limits) {
  return OverSpaces(spaces, request, limit_bytes, limits).run({});
}

ConfigurationSearch fastest_with(WeightResidency weights, const Spaces& spaces, const Request& request,
                                 int64_t limit_bytes, const SearchLimits& limits) {
  return OverSpaces(spaces, request, limit_bytes, limits).run(weights);
}

std::optional<ConfigurationSearch::Best> some_over(const Spaces& spaces, const Request& request,
                                                   int64_t limit_bytes) {
  return OverSpaces(spaces, request, limit_bytes, {}).some();
}

SmallestOver smallest_over(const Spaces& spaces) {
  SmallestOver best;
  for (const auto& space : spaces) {
    SmallestLimit smallest = smallest_limit(*space);
    if (smallest.bytes < best.smallest.bytes) best = {std::move(smallest), space->configuration()};
  }
  return best;
}

}  // namespace headroom::planner
