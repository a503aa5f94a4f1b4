#include "decoder/validator/recipe_validator.h"

#include <algorithm>

#include "decoder/graph/errors.h"

namespace headroom {
namespace {

constexpr size_t kMostViolations = 20;

std::string text_of(const Interval& interval) {
  return "[" + std::to_string(interval.begin) + ", " + std::to_string(interval.end) + ")";
}

/// One axis of the output, and the rule that cuts it; none where it is whole.
struct CutAxis {
  const char* name;
  int64_t latent;
  int64_t scale;
  bool over_time;
  const TileRule* rule;
  int64_t made(int64_t positions) const {
    if (positions <= 0) return 0;
    return over_time ? (positions - 1) * scale + 1 : positions * scale;
  }
};

class RecipeCheck {
 public:
  RecipeCheck(const RecipePlan& plan, const Model& model) : plan_(plan), model_(model) {}

  std::vector<Violation> run() {
    const Request& request = plan_.request;
    if (!model_.published_tiles) {
      add(Violation::malformed, "recipe", model_.class_name + " has no tiles that are known here");
      return found_;
    }
    Extent latent;
    try {
      latent = latent_extent(model_, request.width_pixels, request.height_pixels, request.frames);
    } catch (const InputError& error) {
      add(Violation::malformed, "request", error.what());
      return found_;
    }
    check_axes(latent);
    if (found_.empty()) check_values();
    if (found_.empty()) check_plans();
    if (found_.empty()) check_bytes();
    return found_;
  }

 private:
  void add(Violation::Kind kind, const std::string& place, const std::string& what) {
    if (found_.size() < kMostViolations) found_.push_back({kind, place, what});
  }

  void check_axes(const Extent& latent) {
    const PublishedTiles& rules = *model_.published_tiles;
    const Axes<int32_t> scale = model_.graph.tensor(model_.graph.output()).scale;
    const bool picture = plan_.recipe.name == RecipeName::diffusers_tiling &&
                         (latent.y > rules.rows.whole || latent.x > rules.columns.whole);
    const bool frames = rules.frames.has_value() && latent.t > rules.frames->whole;
    if (plan_.recipe.name == RecipeName::diffusers_framewise && !rules.frames)
      add(Violation::malformed, "recipe.name", model_.class_name + " does not cut frames");
    check_axis({"t", latent.t, scale.t, true, frames ? &*rules.frames : nullptr}, plan_.recipe.tiles.t);
    check_axis({"y", latent.y, scale.y, false, picture ? &rules.rows : nullptr}, plan_.recipe.tiles.y);
    check_axis({"x", latent.x, scale.x, false, picture ? &rules.columns : nullptr}, plan_.recipe.tiles.x);
  }

  void check_axis(const CutAxis& axis, const std::vector<RecipeTile>& tiles) {
    const std::string list = std::string("recipe.tiles.") + axis.name;
    int64_t covered = 0, behind_before = 0;
    for (size_t i = 0; i < tiles.size(); ++i) {
      const std::string place = list + "[" + std::to_string(i) + "]";
      const RecipeTile& tile = tiles[i];
      check_rule(axis, tile, i, place);
      if (tile.output.begin != covered || tile.output.length() == 0) {
        add(tile.output.begin < covered ? Violation::computed_twice : Violation::skipped_region, place,
            "expected output from " + std::to_string(covered) + " on, found " + text_of(tile.output));
      }
      covered = tile.output.end;
      // Where what it makes lies in the output: from its first position on, those that it skips included.
      const int64_t first = tile.latent.begin * axis.scale, behind = first + axis.made(tile.latent.length());
      if (first + tile.skip != tile.output.begin || behind < tile.output.end)
        add(Violation::wrong_output, place, "makes " + text_of({first + tile.skip, behind}));
      if (i > 0 && behind_before != tile.output.begin + tile.fade)
        add(Violation::wrong_output, place,
            "the tile before ends at " + std::to_string(behind_before) + ", its fade at " +
                std::to_string(tile.output.begin + tile.fade));
      behind_before = behind;
    }
    if (tiles.empty() || covered != axis.made(axis.latent))
      add(Violation::skipped_region, list,
          "expected " + std::to_string(axis.made(axis.latent)) + " positions, found " +
              std::to_string(covered));
    else if (behind_before != covered)
      add(Violation::wrong_output, list, "the last tile makes positions that nothing takes");
  }

  void check_rule(const CutAxis& axis, const RecipeTile& tile, size_t i, const std::string& place) {
    const auto number = static_cast<int64_t>(i);
    RecipeTile expected = tile;
    if (axis.rule == nullptr) {
      expected.latent = {0, axis.latent};
      expected.skip = expected.fade = 0;
    } else {
      const TileRule& rule = *axis.rule;
      const auto tile_from = [&](int64_t begin) {
        return Interval{begin, std::min(axis.latent, begin + rule.extent)};
      };
      const auto dropped = [&](int64_t begin) { return rule.drops_first && begin > 0 ? 1 : 0; };
      const auto left = [&](int64_t begin) { return axis.made(tile_from(begin).length()) - dropped(begin); };
      const int64_t begin = number * rule.stride;
      expected.latent = tile_from(begin);
      expected.skip = dropped(begin);
      expected.fade = i == 0 ? 0 : std::min(rule.fade, std::min(left(begin - rule.stride), left(begin)));
    }
    if (tile != expected || (axis.rule == nullptr && i > 0))
      add(Violation::wrong_output, place, "is not a tile of " + model_.class_name);
  }

  void check_values() {
    const bool blended = plan_.recipe.tiles.y.size() > 1 || plan_.recipe.tiles.x.size() > 1;
    const bool clamps = model_.graph.clamps() && (model_.published_tiles->clamps || !blended);
    if (plan_.recipe.clamps != clamps)
      add(Violation::wrong_output, "recipe.clamps", "expected as the model has it");
    if (plan_.recipe.step != model_.published_tiles->rows.step)
      add(Violation::wrong_output, "recipe.step",
          "expected " + std::to_string(model_.published_tiles->rows.step));
  }

  /// Each tile's plan is of its size, and valid.
  void check_plans() {
    const Recipe& recipe = plan_.recipe;
    const size_t tiles = recipe.tiles.t.size() * recipe.tiles.y.size() * recipe.tiles.x.size();
    if (plan_.plan_of_tile.size() != tiles || plan_.plans.empty()) {
      add(Violation::malformed, "recipe.plan_of_tile", "expected one for each tile");
      return;
    }
    const Axes<int32_t> scale = model_.graph.tensor(model_.graph.output()).scale;
    std::vector<bool> used(plan_.plans.size(), false);
    for (size_t i = 0; i < tiles; ++i) {
      const size_t columns = recipe.tiles.x.size(), rows = recipe.tiles.y.size();
      const std::string place = "recipe.plan_of_tile[" + std::to_string(i) + "]";
      const auto number = static_cast<size_t>(plan_.plan_of_tile[i]);
      if (number >= plan_.plans.size()) {
        add(Violation::malformed, place, "there is no such plan");
        return;
      }
      used[number] = true;
      Request expected = plan_.request;
      expected.frames = (recipe.tiles.t[i / columns / rows].latent.length() - 1) * scale.t + 1;
      expected.height_pixels = recipe.tiles.y[i / columns % rows].latent.length() * scale.y;
      expected.width_pixels = recipe.tiles.x[i % columns].latent.length() * scale.x;
      if (plan_.plans[number].request != expected)
        add(Violation::malformed, place, "its plan is for another size, dtype, device or model");
    }
    const Model of_tiles = for_blended_tiles(model_);
    for (size_t i = 0; i < plan_.plans.size(); ++i) {
      const std::string place = "recipe.plans[" + std::to_string(i) + "]";
      if (!used[i]) add(Violation::malformed, place, "no tile uses it");
      for (const Violation& inner : validate(plan_.plans[i], of_tiles))
        add(inner.kind, place + ": " + inner.place, inner.what);
    }
  }

  /// Edges of tiles in fp32 until they have been faded out, counted once more: each kind at its largest.
  int64_t least_kept_bytes() const {
    const Axes<int32_t> scale = model_.graph.tensor(model_.graph.output()).scale;
    const auto& [t, y, x] = plan_.recipe.tiles;
    int64_t frames = 0, rows = 0, columns = 0, all_columns = 0, latent = 1;
    int64_t fade_t = 0, fade_y = 0, fade_x = 0;
    for (const RecipeTile& tile : t) {
      frames = std::max(frames, (tile.latent.length() - 1) * scale.t + 1 - tile.skip);
      fade_t = std::max(fade_t, tile.fade);
    }
    for (const RecipeTile& tile : y) {
      rows = std::max(rows, tile.latent.length() * scale.y);
      fade_y = std::max(fade_y, tile.fade);
    }
    for (const RecipeTile& tile : x) {
      columns = std::max(columns, tile.latent.length() * scale.x);
      all_columns += tile.latent.length() * scale.x;
      fade_x = std::max(fade_x, tile.fade);
    }
    for (const auto* tiles : {&t, &y, &x}) {
      int64_t most = 0;
      for (const RecipeTile& tile : *tiles) most = std::max(most, tile.latent.length());
      latent *= most;
    }
    const int64_t picture = plan_.request.height_pixels * plan_.request.width_pixels;
    const int64_t positions =
        frames * fade_y * (all_columns + columns) + 2 * frames * rows * fade_x + 2 * fade_t * picture;
    const int64_t channels = model_.graph.tensor(model_.graph.output()).channels;
    return 4 * (plan_.request.batch * (channels * positions + model_.latent_channels * latent) +
                channels * columns);
  }

  void check_bytes() {
    if (plan_.kept_bytes < least_kept_bytes())
      add(Violation::peak_understated, "recipe.kept_bytes",
          "expected at least " + std::to_string(least_kept_bytes()) + ", found " +
              std::to_string(plan_.kept_bytes));
    // On the CPU one pool serves all, beside the largest reserve and what is kept; a GPU's gaps are each
    // plan's own, and what is kept lies in the host's memory.
    const bool on_cpu = plan_.request.device == DeviceKind::cpu;
    int64_t largest = 0, reserve = 0, pool = 0;
    for (const Plan& tile : plan_.plans) {
      largest = std::max(largest, tile.predicted_peak_bytes);
      reserve = std::max(reserve, tile.reserve_bytes);
      pool = std::max(pool, tile.predicted_peak_bytes - tile.reserve_bytes);
    }
    const int64_t least = on_cpu ? pool + reserve + plan_.kept_bytes : largest;
    if (least > plan_.predicted_peak_bytes)
      add(Violation::peak_understated, "predicted.peak_bytes",
          "expected at least " + std::to_string(least) + ", found " +
              std::to_string(plan_.predicted_peak_bytes));
    if (plan_.predicted_peak_bytes > plan_.limit_bytes)
      add(Violation::peak_above_limit, "predicted.peak_bytes",
          std::to_string(plan_.predicted_peak_bytes) + " of " + std::to_string(plan_.limit_bytes));
  }

  const RecipePlan& plan_;
  const Model& model_;
  std::vector<Violation> found_;
};

}  // namespace

std::vector<Violation> validate(const RecipePlan& plan, const Model& model) {
  return RecipeCheck(plan, model).run();
}

void require_valid(const RecipePlan& plan, const Model& model, const std::string& origin) {
  require_none(validate(plan, model), plan.request.model, model, origin);
}

}  // namespace headroom
