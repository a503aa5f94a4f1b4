#include "planner/search/configurations.h"

#include <algorithm>

#include "decoder/graph/errors.h"

namespace headroom::planner {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

/// True where no plan of `configuration` can be faster than the best so far. The limit must have kept that
/// one from nothing, all else must be the same, and its weights must stay: those that come pass by pass are
/// brought in no less often.
bool cannot_be_faster(const Configuration& configuration, const ConfigurationSearch::Best& best) {
  const Configuration& other = best.configuration;
  const bool same_tiers = other.lower_tier == configuration.lower_tier &&
                          other.lower_limit_bytes == configuration.lower_limit_bytes;
  return best.solution.unhindered && other.micro_batch == configuration.micro_batch && same_tiers &&
         other.weights == WeightResidency::resident;
}

/// Whether tensors may be kept above a row: of pictures on the CPU, with nothing below the device.
bool keeps_above(const Problem& problem) {
  const Request& request = problem.request;
  return request.device == DeviceKind::cpu && request.frames == 1 && problem.ranks.alone() &&
         problem.options.host_limit_bytes <= 0 && problem.options.scratch_limit_bytes <= 0;
}

/// The rows of the latent above which tensors may be kept: sixteenths of all.
std::vector<int64_t> rows_kept_above(int64_t latent_rows) {
  constexpr int64_t kParts = 16;
  std::vector<int64_t> list;
  for (int64_t part = 1; part < kParts; ++part) {
    const int64_t rows = latent_rows * part / kParts;
    if (rows > 0 && (list.empty() || rows != list.back())) list.push_back(rows);
  }
  return list;
}

double whole_batch(double micro_batch_seconds, const PlanSpace& space, const Request& request) {
  const double start = space.start_seconds();
  return start + (micro_batch_seconds - start) * double(request.batch / space.configuration().micro_batch);
}

}  // namespace

Spaces spaces_of(const Problem& problem) {
  const Request& request = problem.request;
  const PlanOptions& options = problem.options;
  if (request.device == DeviceKind::cuda && options.scratch_limit_bytes > 0) {
    throw InputError(
        "--scratch: not with --device cuda: kept tensors live on the device or, with --host-limit, in host "
        "memory");
  }
  for (const auto& [bytes, option] : {std::pair(options.host_limit_bytes, "--host-limit"),
                                      std::pair(options.scratch_limit_bytes, "--scratch")}) {
    if (!problem.ranks.alone() && bytes > 0) throw InputError(std::string(option) + ": not with --ranks");
  }
  std::vector<int64_t> micro_batches{request.batch};
  if (request.batch > 1) micro_batches.push_back(1);
  std::vector<WeightResidency> residencies{WeightResidency::resident, WeightResidency::per_pass};
  if (options.weights) residencies = {*options.weights};
  Spaces spaces;
  for (int64_t micro_batch : micro_batches) {
    const auto catalog =
        std::make_shared<PassCatalog>(problem.model, request, micro_batch, problem.costs, problem.ranks);
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
  if (!keeps_above(problem)) return spaces;
  // The more is kept, the faster, as long as it fits.
  std::vector<int64_t> rows = rows_kept_above(spaces.front()->catalog()->sizes().latent.y);
  std::reverse(rows.begin(), rows.end());
  for (size_t i = 0, without = spaces.size(); i < without; ++i) {
    for (int64_t above : rows) {
      Configuration configuration = spaces[i]->configuration();
      configuration.above_latent_rows = above;
      spaces.push_back(std::make_unique<PlanSpace>(spaces[i]->catalog(), configuration));
    }
  }
  return spaces;
}

ConfigurationSearch fastest_over(const Spaces& spaces, const Request& request, int64_t limit_bytes,
                                 const SearchLimits& limits) {
  ConfigurationSearch search;
  std::optional<ConfigurationSearch::Best>& best = search.best;
  const auto take = [&](Solution solution, const PlanSpace& space) {
    const double seconds = whole_batch(solution.seconds, space, request);
    if (!best || seconds < best->seconds)
      best = {std::move(solution), space.configuration(), space.start_seconds(), seconds};
  };
  if (limits.deadline) {
    // Some plan of every configuration before the proof of any.
    for (const auto& space : spaces) {
      if (space->configuration().above_latent_rows > 0) continue;
      if (auto solution = some_path(*space, limit_bytes, limits)) take(std::move(*solution), *space);
    }
  }
  double unfinished = kForever;
  for (const auto& space : spaces) {
    if (best && cannot_be_faster(space->configuration(), *best)) continue;
    const double start = space->start_seconds();
    if (!best && space->configuration().above_latent_rows > 0) {
      // Where nothing fits without, nothing is kept above a row. Where time was up, that is not known.
      if (!search.in_time)
        unfinished =
            std::min(unfinished, whole_batch(start + space->least_seconds_from(0), *space, request));
      continue;
    }
    // Only what is faster than the best so far is of use.
    const double enough =
        best ? start + (best->seconds - start) / double(request.batch / space->configuration().micro_batch)
             : kForever;
    SpaceSearch found = fastest(*space, limit_bytes, {limits.deadline, enough, limits.held_back_bytes});
    if (found.solution) take(std::move(*found.solution), *space);
    if (found.in_time) continue;
    search.in_time = false;
    unfinished = std::min(unfinished, whole_batch(found.bound_seconds, *space, request));
  }
  search.bound_seconds = best ? std::min(best->seconds, unfinished) : unfinished;
  return search;
}

SmallestOver smallest_over(const Spaces& spaces) {
  SmallestOver best;
  for (const auto& space : spaces) {
    if (space->configuration().above_latent_rows > 0) continue;
    SmallestLimit smallest = smallest_limit(*space);
    if (smallest.bytes < best.smallest.bytes) best = {std::move(smallest), space->configuration()};
  }
  return best;
}

}  // namespace headroom::planner
