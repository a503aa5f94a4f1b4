#include "profiler/libtorch/eager_run.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>

#include <chrono>

#include "decoder/graph/errors.h"
#include "profiler/libtorch/eager_blend.h"

namespace headroom::profiler {
namespace {

using Clock = std::chrono::steady_clock;

uint64_t address_of(const at::Tensor& tensor) {
  return tensor.defined() ? reinterpret_cast<uint64_t>(tensor.storage().data()) : 0;
}

EagerClass class_of(const Model& model) {
  const std::optional<EagerClass> of = eager_class(model.class_name);
  if (!of)
    throw InputError("--engine libtorch: how diffusers' code of " + model.class_name +
                     " calls LibTorch is not known here");
  return *of;
}

std::unique_ptr<EagerOperators> operators_of(EagerClass of, const EagerWeights& weights) {
  if (of == EagerClass::wan) return wan_operators(weights);
  return of == EagerClass::dc ? dc_operators(weights) : kl_operators(weights);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

EagerRun::EagerRun(const Model& model, const EagerWeights& weights, const EagerDevice& device,
                   AllocationLog& log, std::function<void(const Op&)> running)
    : graph_(model.graph),
      device_(device),
      log_(log),
      running_(std::move(running)),
      of_(class_of(model)),
      operators_(operators_of(of_, weights)),
      order_(eager_order(graph_, of_ == EagerClass::wan)),
      until_(held_until(graph_, order_)),
      copied_(copied_inputs(graph_, order_)),
      copies_(copied_.size()),
      decoded_(made_of_frame(graph_, of_)),
      held_(graph_.tensors().size()) {}

at::Tensor EagerRun::decode(const at::Tensor& latent) {
  if (of_ == EagerClass::wan) return decode_clip(latent);
  held_[index(graph_.latent())] = latent;
  run_stage(EagerStage::frame, 0);
  operators_->forget();
  return std::move(held_[index(graph_.output())]);
}

at::Tensor EagerRun::decode_clip(const at::Tensor& latent) {
  held_[index(graph_.latent())] = latent;
  run_stage(EagerStage::before_frames, 0);
  const TensorId input = graph_.op(order_.front()).output;
  const at::Tensor frames = held_[index(input)];
  at::Tensor clip, last;  // the last chunk is held until the next one is done
  for (int64_t chunk = 0; chunk < latent.size(2); ++chunk) {
    at::Tensor made = decode_frame(input, frames.narrow(2, chunk, 1), chunk);
    if (chunk == 0) {
      clip = std::move(made);
      continue;
    }
    last = std::move(made);
    log_.name(address_of(last), "frames decoded last");
    clip = joined([&] { return at::cat({clip, last}, 2); }, "clip");
  }
  clip = finished(std::move(clip), graph_.clamps());
  operators_->forget();
  return clip;
}

at::Tensor EagerRun::decode_frame(TensorId input, const at::Tensor& frame, int64_t chunk) {
  held_[index(input)] = frame;
  if (input == graph_.latent()) run_stage(EagerStage::before_frames, chunk);
  run_stage(EagerStage::frame, chunk);
  return std::move(held_[index(decoded_)]);
}

at::Tensor EagerRun::finished(at::Tensor clip, bool clamps) {
  held_[index(decoded_)] = std::move(clip);
  run_stage(EagerStage::after_frames, 0);
  clip = std::move(held_[index(graph_.output())]);
  return clamps ? joined([&] { return at::clamp(clip, -1, 1); }, "clip") : clip;
}

void EagerRun::run_stage(EagerStage stage, int64_t chunk) {
  for (size_t i = 0; i < order_.size(); ++i) {
    if (stage_of(graph_.op(order_[i]), of_) != stage) continue;
    copy_inputs(i);
    run(i, chunk);
    drop_after(i);
  }
}

void EagerRun::copy_inputs(size_t place) {
  for (size_t i = 0; i < copied_.size(); ++i) {
    if (copied_[i].first != place) continue;
    copies_[i] = held_[index(copied_[i].tensor)].clone();
    log_.name(address_of(copies_[i]), "copy of " + graph_.tensor(copied_[i].tensor).name);
  }
}

void EagerRun::drop_after(size_t place) {
  for (size_t t = 0; t < until_.size(); ++t) {
    if (until_[t] == place) held_[t].reset();
  }
  for (size_t i = 0; i < copied_.size(); ++i) {
    if (copied_[i].last == place) copies_[i].reset();
  }
}

void EagerRun::run(size_t place, int64_t chunk) {
  const Op& op = graph_.op(order_[place]);
  running_(op);
  std::vector<at::Tensor> inputs;
  for (const TensorId id : op.inputs) inputs.push_back(held_[index(id)]);
  for (const TensorId id : op.inputs) {
    if (until_[index(id)] == place) held_[index(id)].reset();  // the operators' alone
  }
  at::Tensor made = logged(index(order_[place]), [&] {
    return operators_->run({graph_, op, inputs, held_, chunk});
  });
  if (const at::Tensor* kept = operators_->kept(op))
    log_.name(address_of(*kept),
              (of_ == EagerClass::wan ? "frames kept for " : "channels repeated for ") + op.name);
  log_.name(address_of(made), graph_.tensor(op.output).name);
  held_[index(op.output)] = std::move(made);
}

at::Tensor EagerRun::joined(const std::function<at::Tensor()>& join, const char* name) {
  at::Tensor made = logged(joining(), join);
  log_.name(address_of(made), name);
  return made;
}

at::Tensor EagerRun::logged(size_t layer, const std::function<at::Tensor()>& make) {
  log_.begin_layer(layer);
  const Clock::time_point begin = Clock::now();
  at::Tensor made = make();
  device_.synchronise();
  log_.end_layer(address_of(made), seconds_since(begin));
  return made;
}

at::Tensor EagerRun::tile_of_clip(const at::Tensor& latent) {
  operators_->forget();
  frames_of_tile_.clear();
  for (int64_t chunk = 0; chunk < latent.size(2); ++chunk) {
    decoded_last_ = decode_frame(graph_.latent(), latent.narrow(2, chunk, 1), chunk);
    log_.name(address_of(decoded_last_), "frames of a tile");
    frames_of_tile_.push_back(decoded_last_);
  }
  return joined([&] { return at::cat(frames_of_tile_, 2); }, "tiles");
}

at::Tensor EagerRun::decode_tiles(const at::Tensor& latent, const Recipe& recipe) {
  const int64_t x = latent.dim() - 1, y = x - 1;
  TileRows tiles;
  for (const RecipeTile& rows : recipe.tiles.y) {
    tiles.emplace_back();
    for (const RecipeTile& columns : recipe.tiles.x) {
      const at::Tensor tile = latent.narrow(y, rows.latent.begin, rows.latent.length())
                                  .narrow(x, columns.latent.begin, columns.latent.length());
      tiles.back().push_back(of_ == EagerClass::wan ? tile_of_clip(tile) : decode(tile));
      log_.name(address_of(tiles.back().back()), "tiles");
    }
  }
  operators_->forget();
  // All tiles are there until the picture is.
  std::vector<at::Tensor> made;
  for (size_t row = 0; row < tiles.size(); ++row)
    made.push_back(joined([&] { return blended_row(tiles, row, recipe); }, "rows of tiles"));
  at::Tensor picture = finished(joined([&] { return at::cat(made, y); }, "picture"), recipe.clamps);
  frames_of_tile_.clear();
  decoded_last_.reset();
  return picture;
}

}  // namespace headroom::profiler
