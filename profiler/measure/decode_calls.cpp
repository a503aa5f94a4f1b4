#include "profiler/measure/decode_calls.h"

#include <algorithm>
#include <cmath>

#include "decoder/graph/geometry.h"
#include "decoder/schedule/tiles.h"

namespace headroom::profiler {
namespace {

// Share of a decode's time at which a table's own ratio and the whole decode's weigh the same.
constexpr double kDrawnShare = 0.02;
constexpr double kMostRatio = 1.5;                  // caches do not explain larger ratios
constexpr int64_t kTileRows = 8, kTileColumns = 4;  // tiles of a pass
constexpr int64_t kLeastTileRows = 16, kLeastTileColumns = 32;

struct Ratio {
  double log_positions = 0;
  double ratio = 1;
};

/// Times of one latency table's calls in one decode.
struct Sum {
  double measured = 0, predicted = 0;
  double log_positions = 0;  ///< weighted by predicted seconds
};

std::map<std::string, Sum> sums_of(const std::vector<LatencyTable>& tables,
                                   const std::vector<DecodeCalls>& decode) {
  std::map<std::string, Sum> sums;
  for (const DecodeCalls& each : decode) {
    const auto table = std::find_if(tables.begin(), tables.end(), [&](const LatencyTable& candidate) {
      return candidate.name == each.table;
    });
    if (table == tables.end()) continue;
    const double predicted = each.calls * table->seconds_at(double(each.rows), double(each.columns));
    Sum& sum = sums[each.table];
    sum.measured += each.seconds;
    sum.predicted += predicted;
    sum.log_positions += predicted * std::log(double(each.rows) * double(each.columns));
  }
  return sums;
}

double ratio_at(double log_positions, const std::vector<Ratio>& ratios) {
  if (log_positions <= ratios.front().log_positions) return ratios.front().ratio;
  for (size_t i = 1; i < ratios.size(); ++i) {
    const Ratio &below = ratios[i - 1], &above = ratios[i];
    if (log_positions >= above.log_positions) continue;
    const double share = (log_positions - below.log_positions) / (above.log_positions - below.log_positions);
    return below.ratio + share * (above.ratio - below.ratio);
  }
  return ratios.back().ratio;
}

}  // namespace

void DecodeCallRecorder::step_done(const Plan& plan, const StepDone& done) {
  ForwardingEvents::step_done(plan, done);
  const Pass& pass = plan.passes[static_cast<size_t>(done.pass)];
  const Step& step = pass.steps[static_cast<size_t>(done.step)];
  // If the number of keys depends on the frame, one extent does not determine the time of a call.
  if (step.kind == OpKind::attention && graph_.op(step.op).frames == AttentionFrames::up_to_own) return;
  const auto across = static_cast<int64_t>(pass.tiles.x.size()),
             chunks = static_cast<int64_t>(pass.tiles.t.size());
  const auto number = [](int64_t i) { return static_cast<size_t>(i); };
  const Region grid{pass.tiles.t[number(done.tile % chunks)],
                    pass.tiles.y[number(done.tile / chunks / across)],
                    pass.tiles.x[number(done.tile / chunks % across)]};
  Step sized = step;
  sized.tensor = measured_tensor(step);
  const Extent made = extent_of(tile_region(graph_, pass, sized, grid, sizes_.latent));
  const CallsOfStep calls =
      calls_of(step.kind, device_record(sizes_.device), double(made.t), double(sizes_.items));
  const bool moves = step.op == OpId{-1} || step.kind == OpKind::accumulate;
  const std::string table =
      moves ? moving_latency_table_name(name_of(step.kind), graph_.tensor(step.tensor).channels)
            : latency_table_name(graph_, graph_.op(step.op), pass.convolutions.of(step.op));
  int64_t rows = made.y * static_cast<int64_t>(calls.frames_per_call), columns = made.x;
  if (step.kind == OpKind::attention) {
    rows = made.y * made.x;
    columns = latency_table_extent(graph_, graph_.op(step.op), sizes_.latent).x;
  }
  auto& [count, seconds] = calls_[{table, rows, columns}];
  count += calls.calls;
  seconds += done.seconds;
}

std::vector<DecodeCalls> DecodeCallRecorder::calls() const {
  std::vector<DecodeCalls> list;
  for (const auto& [key, found] : calls_)
    list.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), found.first, found.second});
  return list;
}

Plan tiled_for_calls(const Graph& graph, Plan untiled) {
  const Extent latent = sizes_of(graph, untiled).latent;
  for (Pass& pass : untiled.passes) {
    const int64_t rows = latent.y * pass.scale.y, columns = latent.x * pass.scale.x;
    pass.tiles.y = cut(rows, std::max(kLeastTileRows, rows / kTileRows));
    pass.tiles.x = cut(columns, std::max(kLeastTileColumns, columns / kTileColumns));
  }
  return untiled;
}

double calibrate_with_decodes(std::vector<LatencyTable>& tables,
                              const std::vector<std::vector<DecodeCalls>>& decodes) {
  std::map<std::string, std::vector<Ratio>> ratios;
  double last = 1;
  for (const std::vector<DecodeCalls>& decode : decodes) {
    const std::map<std::string, Sum> sums = sums_of(tables, decode);
    Sum all;
    for (const auto& [name, sum] : sums) all.measured += sum.measured, all.predicted += sum.predicted;
    if (all.measured <= 0 || all.predicted <= 0) continue;
    last = all.measured / all.predicted;
    const double drawn = kDrawnShare * all.predicted;
    for (const auto& [name, sum] : sums) {
      if (sum.predicted <= 0) continue;
      const double ratio = (sum.measured + drawn * last) / (sum.predicted + drawn);
      ratios[name].push_back(
          {sum.log_positions / sum.predicted, std::clamp(ratio, 1 / kMostRatio, kMostRatio)});
    }
  }
  for (LatencyTable& table : tables) {
    const auto found = ratios.find(table.name);
    if (found == ratios.end()) continue;
    std::sort(found->second.begin(), found->second.end(),
              [](const Ratio& a, const Ratio& b) { return a.log_positions < b.log_positions; });
    for (size_t i = 0; i < table.seconds.size(); ++i) {
      const double positions =
          double(table.rows[i / table.columns.size()]) * double(table.columns[i % table.columns.size()]);
      table.seconds[i] *= ratio_at(std::log(positions), found->second);
    }
    make_monotone(table);
  }
  return last;
}

}  // namespace headroom::profiler
