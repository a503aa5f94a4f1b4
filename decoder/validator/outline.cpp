#include <algorithm>
#include <cmath>
#include <set>

#include "decoder/validator/view.h"

namespace headroom::validation {
namespace {

// Far above any real size, and small enough that no product of positions overflows 64 bits.
constexpr int64_t kLongestLatent = int64_t{1} << 24;
constexpr int64_t kMostPositions = int64_t{1} << 40;
constexpr int64_t kLargestScale = 4096;

bool in_range(int64_t value, int64_t least, int64_t most) {
  return least <= value && value <= most;
}

bool is_amount(double value) {
  return std::isfinite(value) && value >= 0;
}

// The planner may have added the seconds in another order.
constexpr double kRounding = 1e-9;
/// A plan counts as proven fastest if its bound is this close to its time.
constexpr double kProven = 1e-6;

/// Checks the bound against the plan's seconds. 0 means no bound.
void check_bound(View& view) {
  const double bound = view.plan.bound_seconds;
  const double seconds = view.plan.predicted_seconds;
  const auto refuse = [&](const char* place, const std::string& what) {
    view.findings.add(Violation::malformed, place, what);
  };
  if (!is_amount(bound)) return refuse("bound_seconds", "expected a finite number of at least 0");
  if (bound == 0 || !is_amount(seconds)) return;
  if (bound > seconds * (1 + kRounding)) {
    refuse("bound_seconds",
           std::to_string(bound) + " s, but the plan itself takes " + std::to_string(seconds) + " s");
  } else if (view.plan.optimal && bound < seconds * (1 - kProven)) {
    refuse("optimal", "the plan takes " + std::to_string(seconds) + " s, proven are only " +
                          std::to_string(bound) + " s");
  }
}

void check_numbers(View& view) {
  const Plan& plan = view.plan;
  const auto refuse = [&](bool bad, const char* place, const char* expected) {
    if (bad) view.findings.add(Violation::malformed, place, expected);
  };
  refuse(plan.request.batch < 1, "request.batch", "expected at least 1");
  refuse(!in_range(plan.micro_batch, 1, plan.request.batch), "micro_batch", "expected from 1 to the batch");
  refuse(plan.limit_bytes < 0, "limit_bytes", "expected at least 0");
  refuse(plan.weights_bytes < 0, "weights_bytes", "expected at least 0");
  refuse(plan.reserve_bytes < 0, "reserve_bytes", "expected at least 0");
  refuse(plan.predicted_peak_bytes < 0, "predicted.peak_bytes", "expected at least 0");
  refuse(plan.host_limit_bytes < 0, "host_limit_bytes", "expected at least 0");
  refuse(plan.host_weights_bytes < 0, "host_weights_bytes", "expected at least 0");
  refuse(plan.scratch_limit_bytes < 0, "scratch.limit_bytes", "expected at least 0");
  refuse(plan.request.device != DeviceKind::cpu && plan.request.device != DeviceKind::cuda &&
             plan.request.device != DeviceKind::torch,
         "request.device", "expected cpu, cuda or torch");
  const bool fp32_on_gpu = plan.request.device == DeviceKind::cuda && plan.request.dtype == Dtype::fp32;
  refuse(!fp32_on_gpu && (plan.request.tf32.convolutions || plan.request.tf32.products), "request.tf32",
         "expected none, since only fp32 on cuda can use TF32");
  refuse(plan.weights != WeightResidency::resident && plan.weights != WeightResidency::per_pass, "weights",
         "expected resident or per_pass");
  refuse(!plan.engines.empty() && !view.on_cuda(), "engines",
         "expected none: only a GPU's libraries have engines to choose from");
  refuse(!is_amount(plan.predicted_seconds), "predicted.seconds", "expected a finite number of at least 0");
  refuse(!is_amount(plan.predicted_seconds_low) || !is_amount(plan.predicted_seconds_high) ||
             (plan.predicted_seconds_high > 0 &&
              (plan.predicted_seconds_low > plan.predicted_seconds * (1 + kRounding) ||
               plan.predicted_seconds_high < plan.predicted_seconds * (1 - kRounding))),
         "predicted.seconds_low", "expected seconds between seconds_low and seconds_high");
  check_bound(view);
  for (size_t axis = 0; axis < 3; ++axis) {
    refuse(!in_range(at(view.latent, kAxes[axis]), 1, kLongestLatent), "request", "picture of no such size");
  }
  if (view.findings.empty()) {
    const int64_t all = multiply(multiply(view.latent.t, view.latent.y), view.latent.x);
    refuse(all > kMostPositions, "request", "picture of no such size");
  }
  const RankShare& share = plan.share;
  refuse(!in_range(share.rank, 0, int64_t{share.ranks} - 1), "rank",
         "expected from 0 to the last of its ranks");
  const Interval& rows = share.latent_rows;
  refuse(!share.alone() && !(0 <= rows.begin && rows.begin <= rows.end && rows.end <= view.latent.y),
         "latent_rows", "expected rows of the latent");
  refuse(!view.is_tensor(view.graph.output()), "request.model", "the model's graph has no output");
}

void check_tier(View& view, const KeptTensor& entry) {
  const auto refuse = [&](const char* what) {
    view.findings.add(Violation::malformed, view.place(entry) + ".tier", what);
  };
  if (entry.tier != MemoryTier::device && entry.tier != MemoryTier::host &&
      entry.tier != MemoryTier::scratch) {
    refuse("expected device, host or scratch");
  } else if (entry.tier != MemoryTier::device && !view.plan.share.alone()) {
    view.findings.add(Violation::misplaced, view.place(entry) + ".tier",
                      "ranks exchange rows that are on the device only");
  } else if (entry.tier == MemoryTier::scratch && view.on_cuda()) {
    refuse("a plan for cuda keeps nothing in a scratch file, only on the device and in host memory");
  } else if (entry.tier == MemoryTier::scratch && view.plan.scratch_folder.empty()) {
    refuse("the plan names no folder for a scratch file");
  }
}

/// A rank must store at least its own rows. A rank without rows must store none.
bool check_rows(View& view, const KeptTensor& entry) {
  if (!entry.rows) return true;
  const Interval& rows = *entry.rows;
  const Interval all = view.picture(entry.tensor, kRows);
  const Interval own = view.own_rows(view.graph.tensor(entry.tensor).scale.y);
  const std::string place = view.place(entry) + ".rows";
  if (view.plan.share.alone()) {
    view.findings.add(Violation::malformed, place, "one rank alone stores all rows");
    return false;
  }
  if (rows.begin > rows.end || !all.contains(rows)) {
    view.findings.add(Violation::malformed, place, to_text(rows) + " is no part of its rows " + to_text(all));
    return false;
  }
  if (own.length() == 0 && rows.length() > 0) {
    view.findings.add(Violation::malformed, place, "the rank has no rows, and stores " + to_text(rows));
    return false;
  }
  if (own.length() == 0 || rows.contains(own)) return true;
  view.findings.add(Violation::skipped_region, place,
                    "the rank makes " + to_text(own) + ", and only " + to_text(rows) + " is stored");
  return false;
}

void check_blocks(View& view, const KeptTensor& entry) {
  if (entry.block_rows < 1) {
    view.findings.add(Violation::malformed, view.place(entry) + ".block_rows", "expected at least 1");
    return;
  }
  // The checks use memory for each block, so their number is limited.
  const int64_t count = multiply(view.block_count(entry), view.plan.micro_batch);
  view.blocks_left -= std::min(count, view.blocks_left + 1);
  if (view.blocks_left < 0) {
    view.blocks_left = 0;
    view.findings.add(Violation::malformed, view.place(entry) + ".block_rows",
                      "expected at most 4,000,000 blocks of all kept tensors together");
  }
}

void check_kept(View& view, const KeptTensor& entry) {
  const auto refuse = [&](const char* key, const std::string& what) {
    view.findings.add(Violation::malformed, view.place(entry) + key, what);
  };
  if (!view.is_tensor(entry.tensor)) return refuse(".tensor", "no such tensor");
  if (entry.tensor == view.graph.input())
    return refuse(".tensor", "the latent is always on the device and not listed");
  if (view.graph.tensor(entry.tensor).statistics) return refuse(".tensor", "statistics have no blocks");
  if (view.kept(entry.tensor) != &entry) return refuse(".tensor", "listed a second time");
  const auto passes = static_cast<int64_t>(view.plan.passes.size());
  if (!in_range(entry.first_pass, 0, passes - 1)) return refuse(".first_pass", "no such pass");
  if (!in_range(entry.last_pass, entry.first_pass, passes - 1)) {
    return refuse(".last_pass", "expected a pass from first_pass to the last one");
  }
  if (entry.in_place_of != TensorId{-1}) {
    const KeptTensor* base = view.is_tensor(entry.in_place_of) ? view.kept(entry.in_place_of) : nullptr;
    if (base == nullptr || base == &entry) return refuse(".in_place_of", "expected another kept tensor");
    for (const KeptTensor* either : {&entry, base}) {
      if (either->tier == MemoryTier::device) continue;
      return view.findings.add(Violation::misplaced, view.place(*either) + ".tier",
                               "blocks are taken over on the device only");
    }
  }
  check_tier(view, entry);
  if (check_rows(view, entry)) check_blocks(view, entry);
}

/// Checks that tiles cover the grid's axis in sweep order, without gap or overlap.
void check_grid(View& view, size_t pass, Axis axis) {
  const std::string place = "passes[" + std::to_string(pass) + "].tiles." + letter(axis);
  const std::vector<Interval>& tiles = at(view.plan.passes[pass].tiles, axis);
  const int64_t scale = at(view.plan.passes[pass].scale, axis);
  const Interval all = axis == kTime   ? Interval{0, (view.latent.t - 1) * scale + 1}
                       : axis == kRows ? view.own_rows(scale)
                                       : Interval{0, view.latent.x * scale};
  int64_t end = all.begin;
  for (const Interval& tile : tiles) {
    if (tile.begin >= tile.end || !all.contains(tile)) {
      return view.findings.add(Violation::malformed, place,
                               to_text(tile) + " is no part of the axis " + to_text(all));
    }
    if (tile.begin > end) {
      return view.findings.add(Violation::skipped_region, place,
                               "no tile covers " + to_text({end, tile.begin}));
    }
    if (tile.begin < end) {
      return view.findings.add(Violation::computed_twice, place,
                               "two tiles cover " + to_text({tile.begin, end}));
    }
    end = tile.end;
  }
  if (end < all.end) {
    view.findings.add(Violation::skipped_region, place, "no tile covers " + to_text({end, all.end}));
  }
}

/// Checks a pass that carries rows. Every step must be able to make a row without the rows above it. The
/// decode must be of a picture, by one rank.
bool check_carries(View& view, size_t p) {
  const Pass& pass = view.plan.passes[p];
  if (!pass.carries_rows) return true;
  const auto refuse = [&](const char* what) {
    view.findings.add(Violation::malformed, "passes[" + std::to_string(p) + "].carries_rows", what);
    return false;
  };
  if (!view.plan.share.alone()) return refuse("ranks carry no rows");
  if (view.latent.t != 1) return refuse("carrying rows is not supported for clips");
  const std::set<OpKind> kinds{
      OpKind::gather,         OpKind::norm,       OpKind::rms_norm, OpKind::upsample, OpKind::depth_to_space,
      OpKind::space_to_depth, OpKind::conv,       OpKind::activate, OpKind::add,      OpKind::accumulate,
      OpKind::store,          OpKind::statistics, OpKind::emit,     OpKind::modulate};
  for (const Step& step : pass.steps) {
    if (!kinds.contains(step.kind)) return refuse("a step of another kind needs whole tiles");
    if (step.edges == Edges::reflect)
      return refuse("rows that are mirrored below the picture are not carried");
  }
  return true;
}

void check_algorithms(View& view, const Pass& pass, const std::string& place) {
  const ConvolutionAlgorithm algorithm = pass.convolutions.algorithm;
  if (algorithm != ConvolutionAlgorithm::direct && algorithm != ConvolutionAlgorithm::winograd) {
    view.findings.add(Violation::malformed, place + ".convolutions", "expected direct or winograd");
  } else if (algorithm == ConvolutionAlgorithm::winograd && view.on_cuda()) {
    view.findings.add(Violation::malformed, place + ".convolutions",
                      "on cuda convolutions have the direct form only");
  }
  std::set<OpId> known;
  for (const OpId op : pass.convolutions.direct) {
    const bool runs =
        std::any_of(pass.steps.begin(), pass.steps.end(), [&](const Step& step) { return step.op == op; });
    if (!runs || algorithm == ConvolutionAlgorithm::direct || !known.insert(op).second) {
      view.findings.add(Violation::malformed, place + ".direct_convolutions",
                        "expected distinct operations of this pass, and only in a winograd pass");
      return;
    }
  }
}

void check_pass(View& view, size_t p) {
  const Pass& pass = view.plan.passes[p];
  const std::string place = "passes[" + std::to_string(p) + "]";
  if (pass.predicted_peak_bytes < 0) {
    view.findings.add(Violation::malformed, place + ".predicted.peak_bytes", "expected at least 0");
  }
  if (!is_amount(pass.predicted_seconds) || !is_amount(pass.predicted_flops)) {
    view.findings.add(Violation::malformed, place + ".predicted", "expected finite numbers of at least 0");
  }
  check_algorithms(view, pass, place);
  if (!check_carries(view, p)) return;
  for (Axis axis : kAxes) {
    if (!in_range(at(pass.scale, axis), 1, kLargestScale)) {
      view.findings.add(Violation::malformed, place + ".scale", "expected from 1 to 4096");
      continue;
    }
    if (view.spend(static_cast<int64_t>(at(pass.tiles, axis).size()))) check_grid(view, p, axis);
  }
}

}  // namespace

bool check_outline(View& view) {
  check_numbers(view);
  if (!view.findings.empty()) return false;
  if (view.plan.kept.size() > view.graph.tensors().size()) {
    view.findings.add(Violation::malformed, "kept", "more entries than the model has tensors");
    return false;
  }
  if (view.plan.passes.size() > 10'000) {
    view.findings.add(Violation::malformed, "passes", "expected at most 10000");
    return false;
  }
  for (const KeptTensor& entry : view.plan.kept) check_kept(view, entry);
  for (size_t p = 0; p < view.plan.passes.size() && !view.findings.full(); ++p) check_pass(view, p);
  return view.findings.empty();
}

}  // namespace headroom::validation
