#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/cli/arguments.h"
#include "decoder/plan/plan.h"
#include "planner/cost/exchange_costs.h"
#include "planner/program/request_options.h"

namespace headroom::planner {

/// Help text of --link, with the defaults of link_between().
constexpr const char* kLinkHelp =
    "connection of two ranks: bytes per second, latency in seconds, such as 12GB,20e-6; by default "
    "1.25GB,1e-4 (10 Gbit/s) for the CPU, 20GB,2e-5 (PCIe 4) for cuda";

/// Options of commands that plan for ranks.
struct RankOptions {
  std::string ranks, link, limits;

  /// `ranks_help` is the help text of --ranks for this command.
  void add_to(CLI::App& app, const char* ranks_help);
  bool asked() const { return !ranks.empty(); }
  /// Throw InputError naming the option.
  std::vector<int32_t> counts() const;                  ///< numbers in --ranks, at least one
  Link link_between(const DeviceRecord& device) const;  ///< the device's assumed link without --link
  /// Limit of each rank, from --rank-limit. Without it, every rank gets `limit`.
  std::vector<int64_t> limits_of(int32_t ranks, const std::string& limit, const DeviceRecord& device) const;
};

class RanksDoNotFit : public DoesNotFit {
 public:
  RanksDoNotFit(const std::string& message, std::vector<int64_t> limits, int64_t smallest)
      : DoesNotFit(message, smallest), limits_bytes(std::move(limits)) {}
  std::vector<int64_t> limits_bytes;  ///< by rank
};
nlohmann::json to_json(const RanksDoNotFit& refused);

/// Plans a question for ranks. `model` must be the model for its request. Throws RanksDoNotFit with the
/// smallest limit that works for each rank, and InputError like make_plans().
Plans plan_ranks(const Model& model, const Question& question, const RankOptions& ranks,
                 const std::string& limit);

/// A line on all ranks, and a table with a line for each. The line begins with `named`: the plan's file and a
/// colon, or nothing.
std::string ranks_summary(const std::string& named, const Plans& plan);

/// Compares several numbers of ranks: the fastest plan without a limit, and the smallest limit, for each.
/// Prints a table or JSON.
void compare_ranks(const RequestOptions& asked, const RankOptions& ranks, bool json, std::ostream& out);

}  // namespace headroom::planner
