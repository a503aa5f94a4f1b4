#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoder/cli/arguments.h"
#include "planner/cost/exchange_costs.h"

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
  std::vector<int32_t> counts() const;         ///< numbers in --ranks, at least one
  Link link_between(DeviceKind device) const;  ///< the device's assumed link without --link
  /// Limit of each rank, from --rank-limit. Without it, every rank gets `limit`.
  std::vector<int64_t> limits_of(int32_t ranks, const std::string& limit, DeviceKind device) const;
};

}  // namespace headroom::planner
