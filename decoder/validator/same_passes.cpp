#include "decoder/validator/ranked_view.h"

namespace headroom::validation {
namespace {

/// Compares one rank's plan with that of rank 0. Tiles, blocks, stored rows and bytes may differ.
class SameCheck {
 public:
  SameCheck(RankedView& view, size_t rank)
      : view_(view), rank_(rank), plan_(view.plan.plans[rank]), first_(view.plan.plans[0]) {}

  void run() {
    if (plan_.micro_batch != first_.micro_batch)
      differs("micro_batch", "found " + std::to_string(plan_.micro_batch) + ", rank 0 has " +
                                 std::to_string(first_.micro_batch));
    if (same_count("passes", plan_.passes.size(), first_.passes.size())) {
      for (size_t p = 0; p < plan_.passes.size(); ++p) check_pass(p);
    }
    if (same_count("kept", plan_.kept.size(), first_.kept.size())) {
      for (size_t i = 0; i < plan_.kept.size(); ++i) check_kept(i);
    }
  }

 private:
  void differs(const std::string& place, const std::string& what) {
    view_.findings.add(Violation::ranks_differ, RankedView::place(rank_, place), what);
  }

  bool same_count(const std::string& place, size_t found, size_t expected) {
    if (found == expected) return true;
    differs(place, "found " + std::to_string(found) + ", rank 0 has " + std::to_string(expected));
    return false;
  }

  void check_pass(size_t p) {
    const Pass &pass = plan_.passes[p], &other = first_.passes[p];
    const std::string place = "passes[" + std::to_string(p) + "]";
    if (pass.name != other.name) differs(place + ".name", "rank 0 has '" + other.name + "'");
    if (pass.scale != other.scale) differs(place + ".scale", "is not that of rank 0");
    if (!same_count(place + ".steps", pass.steps.size(), other.steps.size())) return;
    for (size_t s = 0; s < pass.steps.size(); ++s) {
      if (pass.steps[s] == other.steps[s]) continue;
      return differs(view_.ranks[rank_].place(StepRef{p, s}), "is not the step of rank 0");
    }
  }

  void check_kept(size_t i) {
    const KeptTensor &entry = plan_.kept[i], &other = first_.kept[i];
    if (entry.tensor == other.tensor && entry.first_pass == other.first_pass &&
        entry.last_pass == other.last_pass && entry.in_place_of == other.in_place_of)
      return;
    differs(view_.ranks[rank_].place(entry), "is not the tensor that rank 0 keeps, through the same passes");
  }

  RankedView& view_;
  const size_t rank_;
  const Plan &plan_, &first_;
};

}  // namespace

void check_same_passes(RankedView& view) {
  for (size_t rank = 1; rank < view.ranks.size() && !view.findings.full(); ++rank)
    SameCheck(view, rank).run();
}

}  // namespace headroom::validation
