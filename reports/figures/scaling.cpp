#include "reports/figures/scaling.h"

#include <algorithm>
#include <cmath>

#include "decoder/graph/geometry.h"
#include "decoder/schedule/storage.h"
#include "planner/explain/analyze.h"
#include "planner/explain/peak.h"

namespace headroom::reports {
namespace {

constexpr int64_t kLeastPixelsAcross = 256;

void sort_by_pixels(std::vector<ScalingPoint>& series) {
  std::stable_sort(series.begin(), series.end(),
                   [](const ScalingPoint& a, const ScalingPoint& b) { return a.pixels() < b.pixels(); });
}

int64_t parameter_bytes(const Graph& graph, const Request& request) {
  return resident_weights_bytes(graph, storage_of(request));
}

/// True if dtype, weight bytes and layer names agree. The model's name does not matter.
bool is_of(const ScaledDecoder& decoder, const profiler::Profile& profile) {
  const Graph& graph = decoder.model.graph;
  return profile.dtype == decoder.request.dtype &&
         profile.weights_bytes == parameter_bytes(graph, decoder.request) &&
         std::equal(profile.layers.begin(), profile.layers.end(), graph.ops().begin(), graph.ops().end(),
                    [](const profiler::LayerProfile& layer, const Op& op) { return layer.name == op.name; });
}

bool is_of(const ScaledDecoder& decoder, const PlanDocument& document) {
  const Graph &graph = decoder.model.graph, &other = document.model.graph;
  const Request& request = document.plan.request;
  return request.dtype == decoder.request.dtype && request.tf32 == decoder.request.tf32 &&
         request.device == decoder.request.device && request.frames == decoder.request.frames &&
         request.batch == decoder.request.batch &&
         parameter_bytes(other, request) == parameter_bytes(graph, request) &&
         std::equal(other.ops().begin(), other.ops().end(), graph.ops().begin(), graph.ops().end(),
                    [](const Op& a, const Op& b) { return a.name == b.name; });
}

void add_profile(Scaling& scaling, const profiler::Profile& profile) {
  if (scaling.decoder && !is_of(*scaling.decoder, profile)) return;
  for (const profiler::ProfiledSize& size : profile.sizes) {
    const bool other = scaling.decoder && (size.frames != scaling.decoder->request.frames ||
                                           size.batch != scaling.decoder->request.batch);
    if (!other)
      scaling.measured_untiled.push_back(
          {size.width_pixels, size.height_pixels, size.peak_bytes, size.seconds});
  }
}

void add_run(Scaling& scaling, const RunStats& run, const std::vector<DocumentPtr>& documents) {
  for (const DocumentPtr& document : documents) {
    const PlanDocument* plan = document->as<PlanDocument>();
    if (plan == nullptr || document->rank || !run.ranks.empty() || !planner::belongs_to(plan->plan, run))
      continue;
    if (scaling.decoder && !is_of(*scaling.decoder, *plan)) continue;
    const Request& request = plan->plan.request;
    scaling.measured.push_back({request.width_pixels, request.height_pixels, run.peak_bytes, run.seconds});
    return;
  }
}

Series series_of(const std::string& name, Mark mark, ColourRole colour_role,
                 const std::vector<ScalingPoint>& points) {
  Series series{name, mark, colour_role, {}, {}};
  for (const ScalingPoint& point : points) {
    series.x.push_back(double(point.pixels()));
    series.y.push_back(double(point.bytes));
  }
  return series;
}

/// Notes the size at which a series meets the limit, or its last size if all fit.
void add_note(Chart& chart, const std::string& name, const std::vector<ScalingPoint>& series,
              int64_t limit_bytes) {
  const double pixels = largest_pixels_within(series, limit_bytes);
  if (pixels < 0) return;
  const bool all = pixels >= double(series.back().pixels());
  chart.notes.push_back({pixels, double(all ? series.back().bytes : limit_bytes),
                         name + ": " + format(Unit::pixels, pixels) + (all ? " and more" : "")});
}

}  // namespace

std::vector<Request> size_ladder(const Model& model, const Request& request, int64_t most_pixels_across) {
  const Axes<int32_t>& scale = picture_scale(model.graph);
  const int64_t longer = std::max(request.width_pixels, request.height_pixels);
  std::vector<Request> sizes;
  const auto add = [&](int64_t across) {
    if (across > most_pixels_across) return;
    const auto side = [&](int64_t pixels, int32_t factor) {
      return std::max<int64_t>(1, across * pixels / longer / factor) * factor;
    };
    Request size = request;
    size.width_pixels = side(request.width_pixels, scale.x);
    size.height_pixels = side(request.height_pixels, scale.y);
    if (sizes.empty() || !(size == sizes.back())) sizes.push_back(size);
  };
  for (int64_t across = kLeastPixelsAcross; across <= most_pixels_across; across *= 2) {
    add(across);
    add(across / 2 * 3);
  }
  return sizes;
}

Scaling scaling(const Model& model, const std::vector<Request>& sizes, const planner::PlanOptions& options,
                const planner::CostModel& costs, const std::function<bool()>& go_on) {
  Scaling found;
  found.limit_bytes = options.limit_bytes;
  if (!sizes.empty()) found.decoder = {model, sizes.front()};
  for (const Request& size : sizes) {
    if (!go_on()) break;
    const auto add = [&](std::vector<ScalingPoint>& series, int64_t bytes) {
      series.push_back({size.width_pixels, size.height_pixels, bytes});
    };
    add(found.untiled, planner::untiled_peak(model, size, costs).bytes);
    add(found.planned,
        planner::smallest_over(planner::spaces_of({model, size, options, costs})).smallest.bytes);
  }
  return found;
}

void add_measured(Scaling& scaling, const std::vector<DocumentPtr>& documents) {
  for (const DocumentPtr& document : documents) {
    if (const profiler::Profile* profile = document->as<profiler::Profile>()) add_profile(scaling, *profile);
    if (const RunStats* run = document->as<RunStats>()) add_run(scaling, *run, documents);
  }
  sort_by_pixels(scaling.measured_untiled);
  sort_by_pixels(scaling.measured);
}

double largest_pixels_within(const std::vector<ScalingPoint>& series, int64_t limit_bytes) {
  const auto last = std::find_if(series.rbegin(), series.rend(),
                                 [&](const ScalingPoint& point) { return point.bytes <= limit_bytes; });
  if (last == series.rend()) return -1;
  const auto pixels = double(last->pixels());
  if (last == series.rbegin() || last->bytes <= 0) return pixels;
  const ScalingPoint& above = *std::prev(last);
  const double share = std::log(double(limit_bytes) / double(last->bytes)) /
                       std::log(double(above.bytes) / double(last->bytes));
  return pixels * std::pow(double(above.pixels()) / pixels, share);
}

Chart scaling_chart(const Scaling& scaling) {
  Chart chart;
  chart.title = "Peak against resolution";
  chart.x = {"picture", Unit::pixels, true};
  chart.y = {"peak", Unit::bytes, true};
  const auto add = [&](const char* name, Mark mark, ColourRole colour_role,
                       const std::vector<ScalingPoint>& points) {
    if (!points.empty()) chart.series.push_back(series_of(name, mark, colour_role, points));
  };
  add("untiled", Mark::line, ColourRole::untiled, scaling.untiled);
  add("smallest limit", Mark::line, ColourRole::planned, scaling.planned);
  add("untiled, measured", Mark::points, ColourRole::untiled, scaling.measured_untiled);
  add("runs of plans, measured", Mark::points, ColourRole::measured, scaling.measured);
  if (!is_limit(scaling.limit_bytes)) return chart;
  chart.guides.push_back(
      {"limit " + format(Unit::bytes, double(scaling.limit_bytes)), double(scaling.limit_bytes)});
  add_note(chart, "untiled", scaling.untiled.empty() ? scaling.measured_untiled : scaling.untiled,
           scaling.limit_bytes);
  add_note(chart, "planned", scaling.planned, scaling.limit_bytes);
  return chart;
}

}  // namespace headroom::reports
