#include "decoder/session/recipe_run.h"

#include <algorithm>
#include <chrono>

#include "decoder/recipe/tile_blender.h"

namespace headroom {
namespace {

/// The latent as N×C×T×H×W, whatever axes are left out.
Axes<int64_t> latent_extent_of(const Array& latent) {
  const size_t axes = latent.shape.size();
  return {axes == 5 ? latent.shape[2] : 1, latent.shape[axes - 2], latent.shape[axes - 1]};
}

Array cut_out(const Array& latent, const Region& region) {
  const Extent from = latent_extent_of(latent), to = extent_of(region);
  const int64_t items = latent.shape[0], channels = latent.shape[1];
  Array out{{items, channels, to.y, to.x}, {}};
  if (to.t > 1) out.shape.insert(out.shape.begin() + 2, to.t);
  out.values.reserve(static_cast<size_t>(items * channels * positions(to)));
  for (int64_t plane = 0; plane < items * channels; ++plane) {
    for (int64_t t = region.t.begin; t < region.t.end; ++t) {
      for (int64_t y = region.y.begin; y < region.y.end; ++y) {
        const float* row = latent.values.data() + ((plane * from.t + t) * from.y + y) * from.x;
        out.values.insert(out.values.end(), row + region.x.begin, row + region.x.end);
      }
    }
  }
  return out;
}

Region latent_of_tile(const Recipe& recipe, size_t number) {
  const Axes<size_t> at = tile_at(recipe, number);
  return {recipe.tiles.t[at.t].latent, recipe.tiles.y[at.y].latent, recipe.tiles.x[at.x].latent};
}

/// Adds what a tile's decode measured.
void add_tile(const RunStats& tile, RunStats& total) {
  total.output_wait_seconds += tile.output_wait_seconds;
  total.pool_peak_bytes = std::max(total.pool_peak_bytes, tile.pool_peak_bytes);
  total.rss_growth_bytes = std::max(total.rss_growth_bytes, tile.rss_growth_bytes);
  total.scratch_written_bytes += tile.scratch_written_bytes;
  total.scratch_read_bytes += tile.scratch_read_bytes;
  total.transfer_wait_seconds += tile.transfer_wait_seconds;
  total.to_host_bytes += tile.to_host_bytes;
  total.from_host_bytes += tile.from_host_bytes;
  total.device = tile.device;
  total.libraries = tile.libraries;
  total.dtype = tile.dtype;
  total.threads = tile.threads;
}

/// The whole latent must fit the whole request, since tiles are cut out of it.
void check_whole_latent(const Model& model, const RecipePlan& plan, const Array& latent) {
  Plan whole;
  whole.request = plan.request;
  check_latent(model, whole, latent);
}

}  // namespace

RunStats decode(const Model& model, const RecipePlan& plan, const ParameterSource& weights,
                const Array& latent, PictureSink& sink, const RecipeHooks& hooks) {
  check_whole_latent(model, plan, latent);
  const Model of_tiles = for_blended_tiles(model);
  const RecipePrediction prediction = predict(plan);
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<Session> session = open_session(
      {of_tiles, weights, plan.plans,
       plan.limit_bytes - prediction.kept_bytes - (hooks.gpu == nullptr ? prediction.reserve_bytes : 0),
       prediction.pool_bytes, hooks.loading},
      hooks.gpu);
  TileBlender blender(plan.recipe, sink);
  RunStats total;
  double share = 0;
  for (size_t i = 0; i < plan.plan_of_tile.size(); ++i) {
    const auto number = static_cast<size_t>(plan.plan_of_tile[i]);
    const double own = prediction.seconds > 0 ? plan.plans[number].predicted_seconds / prediction.seconds
                                              : 1 / double(plan.plan_of_tile.size());
    if (hooks.tile_started) hooks.tile_started(share, share + own);
    share += own;
    const Array part = cut_out(latent, latent_of_tile(plan.recipe, i));
    const std::unique_ptr<PictureSink> tile = blender.tile(i);
    add_tile(session->decode(number, part, *tile, hooks.events), total);
    tile->finish();
  }
  total.limit_bytes = plan.limit_bytes;
  total.predicted_peak_bytes = plan.predicted_peak_bytes;
  total.predicted_seconds = plan.predicted_seconds;
  total.outside_bytes = session->most_outside_bytes(total.rss_growth_bytes);
  total.peak_bytes = total.pool_peak_bytes + total.outside_bytes;
  total.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  total.equals = equals_of(plan.recipe.name);
  return total;
}

}  // namespace headroom
