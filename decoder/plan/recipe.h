#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoder/graph/axes.h"
#include "decoder/plan/plan.h"

// A decode as others have published it: tiles that overlap, each decoded by itself, and faded into each
// other. It is another picture than the untiled decode, and it is reproduced here under a limit. Each tile is
// decoded exactly, by a plan for its size.
//
//     output   0            output.begin of tile 1               of tile 2
//     tile 0   |-----------------|=====|
//     tile 1                     |=====|-----------------|=====|     === fades from the tile before
//     tile 2                                             |=====|---
//
// Along each axis a tile makes the output's positions from its own `output.begin` to where the fade of the
// next one ends. What is faded into tile 1 are the values of tile 0 after its own fades.
namespace headroom {

/// Whose pictures are reproduced.
enum class RecipeName {
  diffusers_tiling,     ///< after enable_tiling(), frames cut as well where the class does that by default
  diffusers_framewise,  ///< as a class decodes clips by default that cuts frames
};
const char* name_of(RecipeName name);
/// Throws InputError naming `option` unless `text` is one of them.
RecipeName parse_recipe(const std::string& text, const std::string& option);
/// What such a decode equals, in words.
const char* equals_of(RecipeName name);

/// One tile along one axis. All but `latent` count positions of the output.
struct RecipeTile {
  Interval latent;   ///< what is decoded
  Interval output;   ///< what comes from this tile; the next one begins at its end
  int64_t skip = 0;  ///< the first of those made, which are dropped
  int64_t fade = 0;  ///< at the begin of `output`, over which the tile before fades out
  friend bool operator==(const RecipeTile&, const RecipeTile&) = default;
};

struct Recipe {
  RecipeName name{};
  Axes<std::vector<RecipeTile>> tiles;  ///< the tiles are their product: frames, then rows, then columns
  int64_t step = 1;     ///< rows or columns that share one weight of a fade: blended are patches of so many
  bool clamps = false;  ///< to -1 … 1, once all is blended
  friend bool operator==(const Recipe&, const Recipe&) = default;
};

/// Positions that a tile makes behind those that it skips: its own and those that the next one fades out.
int64_t span_of(const std::vector<RecipeTile>& tiles, size_t tile);

/// The tile that a number stands for, counted along columns first, then rows, then frames.
Axes<size_t> tile_at(const Recipe& recipe, size_t number);
size_t tile_count(const Recipe& recipe);

/// What one tile of the request is, as a request of its own.
Request request_of_tile(const Request& whole, const Recipe& recipe, const Axes<size_t>& tile);

/// How such a decode is run under a limit. Plain data; docs/formats.md describes the file.
struct RecipePlan {
  Request request;
  int64_t limit_bytes = 0;
  int64_t kept_bytes = 0;  ///< of the process: edges of tiles that later ones fade out, and a tile's latent
  int64_t predicted_peak_bytes = 0;
  double predicted_seconds = 0;
  Recipe recipe;
  std::vector<Plan> plans;  ///< one for each distinct size of tiles
  std::vector<int32_t> plan_of_tile;
  friend bool operator==(const RecipePlan&, const RecipePlan&) = default;
};

/// What such a plan takes, by the plans of its tiles. On the CPU one pool serves them all, beside the largest
/// of their reserves; on a GPU what is kept lies in the host's memory.
struct RecipePrediction {
  int64_t pool_bytes = 0;
  int64_t reserve_bytes = 0;
  int64_t kept_bytes = 0;  ///< that the limit covers
  int64_t peak_bytes = 0;
  double seconds = 0;
};
RecipePrediction predict(const RecipePlan& plan);

}  // namespace headroom
