#include "planner/explain/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/base/short_name.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/transfers.h"
#include "planner/cost/seconds_range.h"
#include "planner/explain/explain.h"
#include "planner/explain/peak.h"

namespace headroom::planner {

namespace {

constexpr int64_t kFewestUnits = 10;  ///< of the largest amount

}  // namespace

RoundedAmounts::RoundedAmounts(int64_t largest) : unit_("MiB"), unit_bytes_(kMiB) {
  if (largest < kFewestUnits * kMiB) unit_ = "KiB", unit_bytes_ = kKiB;
  if (largest < kFewestUnits * kKiB) unit_ = "bytes", unit_bytes_ = 1;
}

std::vector<std::string> RoundedAmounts::sum(const std::vector<int64_t>& parts) const {
  std::vector<std::string> texts;
  int64_t so_far = 0;
  for (const int64_t part : parts) {
    texts.push_back(digits(rounded(so_far + part) - rounded(so_far)));
    so_far += part;
  }
  texts.push_back(text(so_far));
  return texts;
}

int64_t RoundedAmounts::rounded(int64_t bytes) const {
  return unit_bytes_ == 1 ? bytes : std::llround(100.0 * double(bytes) / double(unit_bytes_));
}

std::string RoundedAmounts::digits(int64_t rounded) const {
  if (unit_bytes_ == 1) return std::to_string(rounded);
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", double(rounded) / 100);
  return text;
}

namespace {

std::vector<BlockMove> moves_in(const PassSweep& sweep, size_t band, size_t bands) {
  using Kind = BlockMove::Kind;
  std::vector<BlockMove> moves;
  const auto add = [&](Kind kind, const Window& window, const Interval& blocks) {
    if (blocks.length() > 0) moves.push_back({kind, window.use.tensor, blocks});
  };
  for (const Window& window : sweep.windows()) {
    // The blocks of the first band arrive before it runs.
    const Interval next = band + 1 < bands ? window.fetched_for(band + 1) : Interval{};
    const Interval own = band == 0 ? window.fetched_for(0) : Interval{};
    const int64_t begin = own.length() > 0 ? own.begin : next.begin;
    const int64_t end = next.length() > 0 ? next.end : own.end;
    add(Kind::fetched, window, {begin, end});
    add(Kind::stored, window, window.stored(band));
    const Interval leaving = window.given_back(band);
    add(window.use.written && window.below_device() ? Kind::written : Kind::given_back, window, leaving);
  }
  return moves;
}

BandPeak peak_of(const PassSweep& sweep, size_t band, const ExtraWorkspace& extra) {
  const auto at = [&](const SweepPoint& point) {
    const LiveBytes live = sweep.live(point);
    const int64_t steps = live.step.total() + (point.step == extra.step ? extra.bytes : 0);
    return BandPeak{point, live.total() - live.kept - live.step.total(), live.kept, steps};
  };
  const SweepPoint highest = sweep.peak_of_band(band).point;
  const BandPeak counted = at(highest), with_extra = at({band, extra.step, highest.later_tile});
  return with_extra.live() > counted.live() ? with_extra : counted;
}

bool goes_on(const Pass& pass, const BandRun& run, const BandRun& next) {
  const auto height = [&](const BandRun& of) {
    return pass.tiles.y[static_cast<size_t>(of.bands.begin)].length();
  };
  const auto alike = [&](const BlockMove& a, const BlockMove& b) {
    return a.kind == b.kind && a.tensor == b.tensor && a.blocks.end == b.blocks.begin &&
           a.blocks.length() == b.blocks.length() * run.bands.length();
  };
  return height(run) == height(next) && run.awaited.empty() && next.awaited.empty() &&
         std::equal(run.moves.begin(), run.moves.end(), next.moves.begin(), next.moves.end(), alike);
}

void add_to(BandRun& run, const BandRun& next) {
  run.bands.end = next.bands.end;
  for (size_t i = 0; i < run.moves.size(); ++i) run.moves[i].blocks.end = next.moves[i].blocks.end;
  if (next.highest.live() > run.highest.live()) run.highest = next.highest;
}

}  // namespace

std::vector<BandRun> band_runs(const Pass& pass, const PassSweep& sweep, const ExtraWorkspace& extra,
                               const std::vector<AwaitedRows>& awaited, bool merged) {
  const size_t bands = pass.tiles.y.size();
  std::vector<BandRun> runs;
  for (size_t band = 0; band < bands; ++band) {
    const auto number = static_cast<int64_t>(band);
    BandRun run{{number, number + 1}, moves_in(sweep, band, bands), {}, {}};
    run.highest = peak_of(sweep, band, extra);
    std::copy_if(awaited.begin(), awaited.end(), std::back_inserter(run.awaited),
                 [&](const AwaitedRows& rows) { return rows.band == band; });
    if (merged && !runs.empty() && goes_on(pass, runs.back(), run)) {
      add_to(runs.back(), run);
    } else {
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

std::vector<std::vector<AwaitedRows>> awaited_rows(const Graph& graph, const Plan& plan,
                                                   const std::vector<RowTransfer>& transfers) {
  std::map<std::pair<int32_t, int32_t>, std::vector<const RowTransfer*>> messages;
  for (const RowTransfer& transfer : transfers) {
    if (transfer.to == plan.share.rank) messages[{transfer.pass, transfer.from}].push_back(&transfer);
  }
  std::vector<std::vector<AwaitedRows>> awaited(plan.passes.size());
  for (const auto& [key, message] : messages) {
    for (size_t pass = static_cast<size_t>(key.first) + 1; pass < plan.passes.size(); ++pass) {
      const size_t band = first_band_of(graph, plan, pass, message);
      if (band == plan.passes[pass].tiles.y.size()) continue;
      for (const RowTransfer* transfer : message) awaited[pass].push_back({band, *transfer});
      break;
    }
  }
  return awaited;
}

namespace {

constexpr size_t kMostLines = 12, kFirstLines = 6, kLastLines = 3;  ///< lines for the bands of one pass
constexpr size_t kAmountWidth = 11;

std::string indented_line(const char* label, const std::string& text) {
  return "  " + left_aligned(label, 7) + text + "\n";
}

std::string where(MemoryTier tier) {
  return tier == MemoryTier::host ? "host memory" : "the scratch file";
}

/// "16 bands of at most 32 rows"
std::string cut_text(const std::vector<Interval>& along, int64_t longest, const char* part,
                     const char* unit) {
  const bool equal = along.back().length() == longest && along.front().length() == longest;
  return counted(static_cast<int64_t>(along.size()), part) + " of " + (equal ? "" : "at most ") +
         counted(longest, unit);
}

/// The amount columns of a table row.
std::string cells(const std::vector<std::string>& amounts) {
  std::string text;
  for (const std::string& amount : amounts) text += right_aligned(amount, kAmountWidth);
  return text;
}

}  // namespace

PassSchedule::PassSchedule(const Plan& plan, const Graph& graph, size_t number, const MemoryModel& memory)
    : plan_(plan),
      graph_(graph),
      number_(number),
      pass_(plan.passes[number]),
      sweep_(graph, plan, number, memory) {
  const Peak peak = sweep_.peak();
  extra_ = {peak.point.step, std::max<int64_t>(0, pass_.predicted_peak_bytes - peak.bytes)};
}

std::string PassSchedule::text(const RoundedAmounts& amounts, const std::vector<AwaitedRows>& awaited,
                               const ScheduleOptions& options) const {
  std::string text = "\npass " + std::to_string(number_) + "  " + short_name(pass_.name) + "  (" +
                     format_seconds(pass_.predicted_seconds) + ", " + gflops_text(pass_.predicted_flops) +
                     kernels() + ")\n" + begin(amounts);
  if (pass_.tiles.y.empty())
    return text + indented_line("bands", "none: this rank has no rows") + end(options);
  const std::vector<BandRun> runs = band_runs(pass_, sweep_, extra_, awaited, !options.pass);
  return text + tiles() + steps(amounts) + bands(runs, amounts, options) + end(options);
}

std::string PassSchedule::name(TensorId tensor) const {
  return short_name(graph_.tensor(tensor).name);
}

std::string PassSchedule::rows(const RowTransfer& transfer) const {
  return name(transfer.tensor) + (transfer.rows.length() == 1 ? " row " : " rows ") +
         range_text(transfer.rows);
}

/// Names the form of the pass's kernels, unless it is the form in the files.
std::string PassSchedule::kernels() const {
  if (pass_.convolutions.algorithm == ConvolutionAlgorithm::direct) return "";
  const std::string direct = direct_names(pass_, graph_);
  return ", kernels in Winograd form" + (direct.empty() ? "" : " but for " + direct);
}

/// Name of the weights that the pass loads.
const char* PassSchedule::weights_name() const {
  return plan_.weights == WeightResidency::resident ? "kernels in Winograd form" : "weights of the pass";
}

/// The amounts that are live before the first band, one in each line, and their sum.
std::string PassSchedule::begin(const RoundedAmounts& amounts) const {
  std::vector<std::string> names{"throughout the decode"}, notes;
  std::vector<int64_t> bytes{live_throughout(graph_, plan_).total()};
  const auto add = [&](const std::string& what, int64_t amount) {
    names.push_back(what);
    bytes.push_back(amount);
  };
  if (const int64_t weights = sweep_.live({}).pass_weights; weights > 0) add(weights_name(), weights);
  for (const Window& window : sweep_.windows()) {
    const TensorUse& use = window.use;
    const int64_t here = window.before.empty() ? 0 : window.before[0];
    const std::string blocks = ", " + counted(here, "block") + " of " + counted(use.block_rows, "row");
    if (window.staged) {
      add(name(use.tensor) + blocks + ", filled from " + where(use.tier) + " again for every tile",
          here * window.block_bytes);
    } else if (window.below_device()) {
      notes.push_back(name(use.tensor) + (use.written ? " goes to " : " comes from ") + where(use.tier));
    } else if (!use.written) {
      add(name(use.tensor) + blocks, here * window.block_bytes);
    }
  }
  for (const KeptTensor& entry : plan_.kept) {
    if (entry.in_place_of != TensorId{-1} && entry.first_pass == static_cast<int32_t>(number_))
      notes.push_back(name(entry.tensor) + " takes over the blocks of " + name(entry.in_place_of));
  }
  if (names.size() > 1) names.emplace_back("in all");
  const std::vector<std::string> sums = amounts.sum(bytes);
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += indented_line(i == 0 ? "begin" : "", right_aligned(sums[i], widest(sums)) + "  " + names[i]);
  return notes.empty() ? text : text + indented_line("", joined(notes, "; "));
}

std::string PassSchedule::tiles() const {
  const Extent longest = longest_tile(pass_);
  std::string text = cut_text(pass_.tiles.y, longest.y, "band", "row") + "; a band has " +
                     cut_text(pass_.tiles.x, longest.x, "tile", "column");
  if (pass_.tiles.t.size() > 1)
    text += "; a tile has " + cut_text(pass_.tiles.t, longest.t, "chunk", "frame") + ", which hand frames on";
  return indented_line("tiles", text + (pass_.carries(Axis::y) ? "; bands hand rows on" : ""));
}

/// The band whose tiles are listed: the first band of full height.
size_t PassSchedule::full_band() const {
  const int64_t height = longest_tile(pass_).y;
  const auto full = std::find_if(pass_.tiles.y.begin(), pass_.tiles.y.end(),
                                 [&](const Interval& band) { return band.length() == height; });
  return static_cast<size_t>(full - pass_.tiles.y.begin());
}

std::string PassSchedule::made_by(size_t number, const RoundedAmounts& amounts) const {
  const Step& step = pass_.steps[number];
  if (step.kind == OpKind::emit) return "rows of the picture";
  if (takes_statistics(step.kind)) return "statistics";
  if (!makes_tile(step))
    return (acquires_blocks(step) ? "blocks of " : "sums in blocks of ") + name(step.tensor);
  const PassSweep::StepTile tile = sweep_.tile_of_step(number, full_band());
  return std::to_string(tile.extent.x) + "x" + std::to_string(tile.extent.y) +
         (tile.extent.t > 1 ? "x" + std::to_string(tile.extent.t) : "") + " tile, " +
         amounts.text(tile.bytes);
}

std::string PassSchedule::given_back_after(size_t step) const {
  const std::vector<Lifetime> lifetimes = tile_lifetimes(pass_);
  const bool goes_on = takes_over(pass_, pass_.steps[step]);
  std::vector<std::string> ended;
  for (size_t i = 0; i <= step; ++i) {
    const bool own = goes_on && pass_.steps[step].inputs[0].step == static_cast<int32_t>(i);
    if (lifetimes[i].begin < lifetimes[i].end && lifetimes[i].end == step + 1 && !own)
      ended.push_back(std::to_string(i));
  }
  std::string text = ended.empty() ? "" : "tile of step " + joined(ended, " and ");
  if (!goes_on) return text;
  return text + (text.empty() ? "" : "; ") + "goes on with the tile of step " +
         std::to_string(pass_.steps[step].inputs[0].step);
}

std::string PassSchedule::steps(const RoundedAmounts& amounts) const {
  std::vector<std::string> names{"steps of a tile"}, made{"make"};
  for (size_t i = 0; i < pass_.steps.size(); ++i) {
    names.push_back(right_aligned(std::to_string(i), 2) + "  " + step_text(pass_.steps[i], graph_));
    made.push_back(made_by(i, amounts));
  }
  const std::vector<StepBytes>& bytes = sweep_.steps_of(full_band());
  const bool carries = bytes[0].carried > 0;
  const auto row = [&](size_t i, std::vector<std::string> columns, const std::string& after) {
    if (!carries) columns.erase(columns.begin());
    const std::string text = "  " + left_aligned(names[i], widest(names) + 2) +
                             left_aligned(made[i], widest(made)) + cells(columns);
    return text + (after.empty() ? "" : "  " + after) + "\n";
  };
  std::string text = row(0, {"carried", "tiles", "workspace", "steps"}, "give back");
  for (size_t i = 0; i < pass_.steps.size(); ++i) {
    const int64_t workspace = bytes[i].workspace + (i == extra_.step ? extra_.bytes : 0);
    text += row(i + 1, amounts.sum({bytes[i].carried, bytes[i].tiles, workspace}), given_back_after(i));
  }
  if (extra_.bytes == 0) return text;
  return text +
         indented_line("", "workspace of step " + std::to_string(extra_.step) + ": " +
                               amounts.text(extra_.bytes) +
                               " of it was measured by the profile in addition to the assumed workspace");
}

std::string PassSchedule::events(const BandRun& run) const {
  std::map<int32_t, std::vector<std::string>> awaited;  // by rank
  for (const AwaitedRows& of_band : run.awaited)
    awaited[of_band.transfer.from].push_back(rows(of_band.transfer));
  const int64_t bands = run.bands.length();
  std::vector<std::string> texts;
  texts.reserve(awaited.size());
  for (const auto& [rank, list] : awaited)
    texts.push_back("waits for rank " + std::to_string(rank) + ": " + joined(list, ", "));
  const std::vector<std::pair<BlockMove::Kind, const char*>> verbs{
      {BlockMove::Kind::fetched, "fetches "},
      {BlockMove::Kind::stored, "takes "},
      {BlockMove::Kind::written, "writes out and gives back "},
      {BlockMove::Kind::given_back, "gives back "}};
  for (const auto& [kind, verb] : verbs) {
    std::vector<std::string> blocks;
    for (const BlockMove& move : run.moves) {
      if (move.kind != kind) continue;
      blocks.push_back(name(move.tensor) + "[" + range_text(move.blocks) + "]" +
                       (bands > 1 ? " (" + std::to_string(move.blocks.length() / bands) + " each)" : ""));
    }
    if (!blocks.empty()) texts.push_back(verb + joined(blocks, ", "));
  }
  return joined(texts, "; ");
}

std::string PassSchedule::band_line(const BandRun& run, const RoundedAmounts& amounts) const {
  const BandPeak& peak = run.highest;
  const Interval on_grid{pass_.tiles.y[static_cast<size_t>(run.bands.begin)].begin,
                         pass_.tiles.y[static_cast<size_t>(run.bands.end - 1)].end};
  return "  " + left_aligned(range_text(run.bands), 9) + left_aligned(range_text(on_grid), 11) +
         cells(amounts.sum({peak.throughout, peak.kept, peak.steps})) +
         right_aligned(std::to_string(peak.point.step), 6) + "  " + events(run);
}

std::string PassSchedule::bands(const std::vector<BandRun>& runs, const RoundedAmounts& amounts,
                                const ScheduleOptions& options) const {
  std::string text = "  " + left_aligned("bands", 9) + left_aligned("rows", 11) +
                     cells({"throughout", "kept", "steps", "live"}) + "  step\n";
  const auto highest = std::max_element(runs.begin(), runs.end(), [](const BandRun& a, const BandRun& b) {
    return a.highest.live() < b.highest.live();
  });
  const auto peak = static_cast<size_t>(highest - runs.begin());
  const bool of_plan = highest->highest.live() == plan_.predicted_peak_bytes && peak_pass(plan_) == number_;
  const bool all = options.pass || runs.size() <= kMostLines;
  int64_t left_out = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!all && i >= kFirstLines && i != peak && i + kLastLines < runs.size()) {
      left_out += runs[i].bands.length();
      continue;
    }
    if (left_out > 0)
      text += "  ... " + counted(left_out, "band") + " more; --pass " + std::to_string(number_) +
              " shows them all\n";
    left_out = 0;
    text += band_line(runs[i], amounts) + (i != peak ? "\n"
                                           : of_plan ? "  <- the peak of the plan\n"
                                                     : "  <- the peak of the pass\n");
  }
  return text;
}

/// The tensors that are released, the tensors that stay, and the results that are complete.
std::string PassSchedule::end(const ScheduleOptions& options) const {
  std::vector<std::string> out, gone, kept, complete, parts;
  for (const Window& window : sweep_.windows()) {
    const bool leaves = window.use.written && window.below_device() && !pass_.tiles.y.empty();
    const Interval last = leaves ? window.completed(pass_.tiles.y.size() - 1) : Interval{};
    if (last.length() > 0) out.push_back(name(window.use.tensor) + "[" + range_text(last) + "]");
  }
  for (const TensorUse& use : uses_in(plan_, number_)) {
    if (use.leaves) {
      gone.push_back(name(use.tensor));
    } else if (!is_taken_over(plan_, use.tensor, number_)) {
      kept.push_back(name(use.tensor));
    }
  }
  if (sweep_.live({}).pass_weights > 0) gone.emplace_back(weights_name());
  for (const Step& step : pass_.steps) {
    if (takes_statistics(step.kind))
      complete.push_back(name(step.tensor) + (plan_.share.alone() ? "" : " (merged with all ranks)"));
    if (step.kind == OpKind::emit) complete.emplace_back("the picture");
  }
  const auto add = [&](const std::string& label, const std::vector<std::string>& list) {
    if (!list.empty()) parts.push_back(label + joined(list, ", "));
  };
  add("writes out and gives back ", out);
  add("gone: ", gone);
  add("kept: ", kept);
  add("complete: ", complete);
  std::map<int32_t, std::vector<std::string>> sent;  // by rank
  for (const RowTransfer& transfer : options.transfers) {
    if (transfer.pass == static_cast<int32_t>(number_) && transfer.from == plan_.share.rank)
      sent[transfer.to].push_back(rows(transfer));
  }
  for (const auto& [rank, list] : sent) add("sends to rank " + std::to_string(rank) + ": ", list);
  return indented_line("end", joined(parts, "; "));
}

namespace {

/// The request, the predictions, and the plan's memory in lower tiers.
std::string plan_heading(const Plan& plan, const Graph& graph) {
  const Request& request = plan.request;
  double flops = 0;
  for (const Pass& pass : plan.passes) flops += pass.predicted_flops;
  std::string text =
      request.model + " " + std::to_string(request.width_pixels) + "x" +
      std::to_string(request.height_pixels) +
      (request.frames > 1 ? ", " + counted(request.frames, "frame") : "") + ", batch " +
      std::to_string(request.batch) + " (" + std::to_string(plan.micro_batch) + " at a time), " +
      arithmetic_of(request) + on_text(request.device) + ": " + std::to_string(plan.passes.size()) +
      (plan.passes.size() == 1 ? " pass, " : " passes, ") + gflops_text(flops) +
      (plan.share.alone()
           ? ""
           : "; rank " + std::to_string(plan.share.rank) + " of " + std::to_string(plan.share.ranks)) +
      "\n";
  text += "peak " + format_bytes(plan.predicted_peak_bytes) + " of " + format_bytes(plan.limit_bytes) +
          ", time " + seconds_text(plan) + " " + costs_text(plan) + ", " + gap_text(plan) +
          (plan.exact ? ", exact\n" : ", approximate\n");
  if (plan.weights == WeightResidency::per_pass)
    text += "weights come pass by pass, at most " + format_bytes(plan.weights_bytes) + " at a time\n";
  if (const int64_t bytes = most_bytes_in(MemoryTier::host, plan, graph); bytes > 0) {
    text += "host memory " + format_bytes(bytes) + " of " + format_bytes(plan.host_limit_bytes) + "\n";
  }
  if (const int64_t bytes = most_bytes_in(MemoryTier::scratch, plan, graph); bytes > 0) {
    text += "scratch file " + format_bytes(bytes) + " of " + format_bytes(plan.scratch_limit_bytes) + " in " +
            plan.scratch_folder + "\n";
  }
  if (plan.host_weights_bytes > 0)
    text += "weights in pinned host memory " + format_bytes(plan.host_weights_bytes) + "\n";
  if (plan.environment != Environment{}) {
    text += "costs of " + plan.environment.device + "; " + plan.environment.libraries + "\n";
  }
  return text;
}

std::string heading(const Plan& plan, const Model& model, const MemoryModel& memory,
                    const RoundedAmounts& amounts) {
  const Request& request = plan.request;
  std::string text = plan_heading(plan, model.graph);
  text += std::string("\nall amounts below are in ") + amounts.unit() +
          ", rounded so that sums add up; a[3..5] are blocks 3, 4 and 5 of tensor a, from the top; tiles are "
          "columns x rows x frames\n";
  text +=
      "each band is shown at its peak, which is in the listed step: live = throughout the pass + kept "
      "blocks + steps\n";
  const LiveBytes live = live_throughout(model.graph, plan);
  const LiveEntry reserve = reserve_entry(live.reserve, device_record(request.device));
  std::vector<std::string> parts;
  std::vector<int64_t> bytes;
  for (const auto& [name, amount] :
       std::vector<std::pair<std::string, int64_t>>{{"weights", live.resident_weights},
                                                    {"latent", live.latent},
                                                    {"statistics", live.state},
                                                    {kPictureEntry, live.picture},
                                                    {reserve.name, reserve.bytes}}) {
    if (amount == 0) continue;
    parts.push_back(name + " ");
    bytes.push_back(amount);
  }
  const std::vector<std::string> sums = amounts.sum(bytes);
  for (size_t i = 0; i < parts.size(); ++i) parts[i] += sums[i];
  text +=
      "throughout the decode: " + joined(parts, " + ") + (parts.empty() ? "" : " = ") + sums.back() + "\n";
  if (plan.passes.empty()) return text;
  const PlanPeak peak = peak_of_plan(plan, model, memory);
  text += "highest: " + amounts.text(peak.bytes) + " live in pass " + std::to_string(peak.pass) + ", band " +
          std::to_string(peak.point.band) + ", step " + std::to_string(peak.point.step);
  return text +
         (peak.bytes == plan.predicted_peak_bytes
              ? ": the predicted peak of the plan\n"
              : "; the plan predicts " + amounts.text(plan.predicted_peak_bytes) + " on its machine\n");
}

}  // namespace

std::string schedule(const Plan& plan, const Model& model, const ScheduleOptions& options) {
  if (options.pass && *options.pass >= plan.passes.size()) {
    throw InputError("--pass " + std::to_string(*options.pass) + ": the plan has passes 0 to " +
                     std::to_string(plan.passes.size() - 1));
  }
  const MemoryModel memory = memory_model_of_plan(plan, model.graph);
  const RoundedAmounts amounts(plan.predicted_peak_bytes);
  const auto awaited = awaited_rows(model.graph, plan, options.transfers);
  std::string text = heading(plan, model, memory, amounts);
  for (size_t pass = 0; pass < plan.passes.size(); ++pass) {
    if (options.pass && pass != *options.pass) continue;
    text += PassSchedule(plan, model.graph, pass, memory).text(amounts, awaited[pass], options);
  }
  return text;
}

}  // namespace headroom::planner
