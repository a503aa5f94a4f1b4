#include "planner/search/configurations.h"

#include <algorithm>

#include "decoder/graph/errors.h"

namespace headroom::planner {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

/// True where no plan of `configuration` can be faster than the best so far. The limit must have kept that
/// one from nothing, so that keeping less of a tensor gains nothing, and all else must be the same, or its
/// weights must stay: those that come pass by pass are brought in no less often.
bool cannot_be_faster(const Configuration& configuration, const ConfigurationSearch::Best& best) {
  const Configuration& other = best.configuration;
  const bool same_tiers = other.lower_tier == configuration.lower_tier &&
                          other.lower_limit_bytes == configuration.lower_limit_bytes;
  return !best.solution.limit_was_binding && other.micro_batch == configuration.micro_batch && same_tiers &&
         (other.weights == WeightResidency::resident || other.weights == configuration.weights);
}

/// Whether tensors can be kept above a row: of pictures, with nothing below the device.
bool keeps_above(const Problem& problem) {
  const Request& request = problem.request;
  return request.frames == 1 && problem.ranks.alone() && problem.options.host_limit_bytes <= 0 &&
         problem.options.scratch_limit_bytes <= 0;
}

/// With more passes there are too many ways to keep tensors above a row.
constexpr size_t kMostPassesAbove = 64;

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
  if (request.device == DeviceKind::cuda && options.scratch_limit_bytes > 0) {
    throw InputError(
        "--scratch: not with --device cuda: kept tensors live on the device or, with --host-limit, in host "
        "memory");
  }
  for (const auto& [bytes, option] : {std::pair(options.host_limit_bytes, "--host-limit"),
                                      std::pair(options.scratch_limit_bytes, "--scratch")}) {
    if (!problem.ranks.alone() && bytes > 0) throw InputError(std::string(option) + ": not with --ranks");
  }
  if (request.device == DeviceKind::cpu && options.host_limit_bytes > 0) {
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
  if (problem.options.cuts != Cuts::always) return spaces;
  for (auto& space : spaces_above(problem, spaces)) spaces.push_back(std::move(space));
  return spaces;
}

Spaces spaces_above(const Problem& problem, const Spaces& without) {
  const auto least_catalog = without.back()->catalog();
  if (!keeps_above(problem) || !least_catalog->liveness().keeps_any_above()) return {};
  if (least_catalog->passes() > kMostPassesAbove) return {};
  Configuration least = without.back()->configuration();
  least.rows_above = rows_kept_above(least_catalog->sizes().latent.y);
  Spaces spaces;
  if (!least.rows_above.empty()) spaces.push_back(std::make_unique<PlanSpace>(least_catalog, least));
  return spaces;
}

namespace {

/// One search after the other, each for what is faster than the best so far.
class OverSpaces {
 public:
  OverSpaces(const Spaces& spaces, const Request& request, int64_t limit_bytes, const SearchLimits& limits,
             ConfigurationSearch known = {})
      : spaces_(spaces),
        request_(request),
        limit_bytes_(limit_bytes),
        limits_(limits),
        done_(std::move(known)) {}

  ConfigurationSearch run() {
    // Some plan of every configuration before the proof of any.
    if (limits_.deadline) take_some();
    // Tensors are kept above a row only where something fits without. Where time is up before that is known,
    // the bound must hold for those plans too.
    for (const auto& space : spaces_) {
      if (space->configuration().rows_above.empty() || best() || !done_.in_time) look_in(*space);
    }
    done_.bound_seconds = best() ? std::min(best()->seconds, unfinished_) : unfinished_;
    return std::move(done_);
  }

  /// The best of some path of each.
  std::optional<ConfigurationSearch::Best> some() {
    take_some();
    return std::move(best());
  }

 private:
  std::optional<ConfigurationSearch::Best>& best() { return done_.best; }

  void take_some() {
    for (const auto& space : spaces_) {
      if (!space->configuration().rows_above.empty()) continue;
      if (auto solution = some_path(*space, limit_bytes_, limits_)) take(std::move(*solution), *space);
    }
  }

  void take(Solution solution, const PlanSpace& space) {
    const double seconds = whole_batch(solution.seconds, space, request_);
    if (!best() || seconds < best()->seconds)
      best() = {std::move(solution), space.configuration(), space.start_seconds(), seconds};
  }

  void look_in(PlanSpace& space) {
    if (best() && cannot_be_faster(space.configuration(), *best())) return;
    const double start = space.start_seconds();
    // Only what is faster than the best so far is of use.
    const auto micro_batches = double(request_.batch / space.configuration().micro_batch);
    const double enough = best() ? start + (best()->seconds - start) / micro_batches : kForever;
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
  return OverSpaces(spaces, request, limit_bytes, limits).run();
}

ConfigurationSearch faster_over(const Spaces& spaces, const Request& request, int64_t limit_bytes,
                                const SearchLimits& limits, ConfigurationSearch proven) {
  return OverSpaces(spaces, request, limit_bytes, limits, std::move(proven)).run();
}

std::optional<ConfigurationSearch::Best> some_over(const Spaces& spaces, const Request& request,
                                                   int64_t limit_bytes) {
  return OverSpaces(spaces, request, limit_bytes, {}).some();
}

SmallestOver smallest_over(const Spaces& spaces) {
  SmallestOver best;
  for (const auto& space : spaces) {
    if (!space->configuration().rows_above.empty()) continue;
    SmallestLimit smallest = smallest_limit(*space);
    if (smallest.bytes < best.smallest.bytes) best = {std::move(smallest), space->configuration()};
  }
  return best;
}

}  // namespace headroom::planner
