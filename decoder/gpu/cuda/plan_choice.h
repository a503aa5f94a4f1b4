#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace headroom::gpu {

/// An engine that a library offers for a problem. A library's plans derive from it.
struct EngineOffer {
  enum class State { offered, made, refused };

  bool tensor_cores = false;
  bool compiles = false;        ///< compiles kernels when its plan is made: takes seconds, and GPU memory
  int64_t workspace_bytes = 0;  ///< the library's estimate, then the plan's actual size
  State state = State::offered;
  bool last_resort = false;
  size_t rank = 0;  ///< in the library's order
};

/// A library's engines for one problem.
template <typename Plan>
class PlanSource {
 public:
  virtual ~PlanSource() = default;
  /// Best first. Every call returns the same list.
  virtual std::vector<Plan> offers(bool last_resorts) = 0;
  /// Builds a plan and sets its workspace size. Returns false if the library refuses.
  virtual bool make(Plan& plan) = 0;
};

/// Chooses the first engine, in the library's order, that fits a workspace. Engines that compile come after
/// all others. Querying the library's last resorts is slow, so this happens only if nothing else fits.
///
/// Libraries offer dozens of engines of tens of KiB each. So it keeps only engines that come first for some
/// workspace size. This relies on the library's estimates. If a plan is refused, or takes more workspace than
/// estimated, it queries the engines again and keeps all of them.
template <typename Plan>
class PlanChoice {
 public:
  /// Null if nothing fits. The pointer is valid until the next call.
  const Plan* find(int64_t workspace_bytes, PlanSource<Plan>& source) {
    for (;;) {
      Plan* plan = first_within(workspace_bytes);
      if (plan != nullptr && plan->state == EngineOffer::State::made) return plan;
      if (plan != nullptr) {
        make(*plan, source);
      } else if (asked_ != HeuristicsAsked::for_last_resorts) {
        ask(source);
      } else {
        return nullptr;
      }
    }
  }

  /// First plan in order that is not refused, of any workspace size; null if there is none so far.
  const Plan* best() const {
    for (const Plan& plan : plans_) {
      if (plan.state != EngineOffer::State::refused) return &plan;
    }
    return nullptr;
  }

 private:
  /// cuDNN reports 0 for some engines that take about a hundred bytes.
  static constexpr int64_t kSlackBytes = 1024;
  enum class HeuristicsAsked { nothing, for_usual, for_last_resorts };

  static bool precedes(const EngineOffer& one, const EngineOffer& other) {
    const auto order = [](const EngineOffer& offer) {
      return std::tuple(offer.compiles, offer.last_resort, offer.rank);
    };
    return order(one) < order(other);
  }

  Plan* first_within(int64_t workspace_bytes) {
    for (Plan& plan : plans_) {
      if (plan.compiles && asked_ != HeuristicsAsked::for_last_resorts) break;
      if (plan.state != EngineOffer::State::refused && plan.workspace_bytes <= workspace_bytes) return &plan;
    }
    return nullptr;
  }

  void ask(PlanSource<Plan>& source) {
    const bool last_resorts = asked_ == HeuristicsAsked::for_usual;
    asked_ = last_resorts ? HeuristicsAsked::for_last_resorts : HeuristicsAsked::for_usual;
    list(last_resorts, source);
  }

  void list(bool last_resorts, PlanSource<Plan>& source) {
    size_t count = 0;
    for (Plan& plan : source.offers(last_resorts)) {
      plan.last_resort = last_resorts;
      plan.rank = count++;
      const auto position = std::lower_bound(plans_.begin(), plans_.end(), plan, precedes);
      if (position != plans_.end() && !precedes(plan, *position)) continue;  // it is there
      const bool never_first = std::any_of(plans_.begin(), position, [&](const Plan& before) {
        return before.workspace_bytes <= plan.workspace_bytes;
      });
      if (keeps_all_ || !never_first) plans_.insert(position, std::move(plan));
    }
  }

  void make(Plan& plan, PlanSource<Plan>& source) {
    const int64_t stated = plan.workspace_bytes;
    const bool made = source.make(plan);
    plan.state = made ? EngineOffer::State::made : EngineOffer::State::refused;
    if ((made && plan.workspace_bytes <= stated + kSlackBytes) || keeps_all_) return;
    keeps_all_ = true;
    list(false, source);
    if (asked_ == HeuristicsAsked::for_last_resorts) list(true, source);
  }

  std::vector<Plan> plans_;  ///< in order of precedes()
  HeuristicsAsked asked_ = HeuristicsAsked::nothing;
  bool keeps_all_ = false;
};

}  // namespace headroom::gpu
