#include "profiler/libtorch/eager_run.h"

#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/mul.h>

#include <algorithm>
#include <chrono>

#include "decoder/graph/errors.h"
#include "profiler/eager/layer_order.h"

namespace headroom::profiler {
namespace {

using Clock = std::chrono::steady_clock;

uint64_t address_of(const at::Tensor& tensor) {
  return tensor.defined() ? reinterpret_cast<uint64_t>(tensor.storage().data()) : 0;
}

std::unique_ptr<EagerOperators> operators_of(const Model& model, const EagerWeights& weights) {
  const std::optional<EagerClass> of = eager_class(model.class_name);
  if (!of)
    throw InputError("--engine libtorch: how diffusers' code of " + model.class_name +
                     " calls LibTorch is not known here");
  if (*of == EagerClass::wan) return wan_operators(weights);
  return *of == EagerClass::dc ? dc_operators(weights) : kl_operators(weights);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Fades the last rows or columns of the tile before into the first of this one, one by one.
void fade(const at::Tensor& before, const at::Tensor& tile, int64_t axis, int64_t most) {
  const int64_t extent = std::min({before.size(axis), tile.size(axis), most});
  for (int64_t i = 0; i < extent; ++i) {
    const double share = double(i) / double(extent);
    const at::Tensor own = tile.select(axis, i);
    const at::Tensor last = before.select(axis, before.size(axis) - extent + i);
    own.copy_(at::add(at::mul(last, 1 - share), at::mul(own, share)));
  }
}

}  // namespace

EagerRun::EagerRun(const Model& model, const EagerWeights& weights, const EagerDevice& device,
                   AllocationLog& log, std::function<void(const Op&)> running)
    : graph_(model.graph),
      device_(device),
      log_(log),
      running_(std::move(running)),
      of_clips_(eager_class(model.class_name) == EagerClass::wan),
      operators_(operators_of(model, weights)),
      order_(eager_order(graph_, of_clips_)),
      until_(held_until(graph_, order_)),
      held_(graph_.tensors().size()) {}

at::Tensor EagerRun::decode(const at::Tensor& latent) {
  operators_->forget();
  if (!of_clips_) {
    held_[index(graph_.latent())] = latent;
    run_chunk(0);
    operators_->forget();
    return std::move(held_[index(graph_.output())]);
  }
  at::Tensor frames = latent, clip, last;  // the last chunk is held until the next one is done
  const Op& first = graph_.op(order_.front());
  if (operators_->before_frames(first)) {
    held_[index(graph_.latent())] = latent;
    run(0, 0);
    frames = std::move(held_[index(first.output)]);
  }
  const TensorId input = operators_->before_frames(first) ? first.output : graph_.latent();
  for (int64_t chunk = 0; chunk < latent.size(2); ++chunk) {
    held_[index(input)] = frames.narrow(2, chunk, 1);
    run_chunk(chunk);
    at::Tensor made = std::move(held_[index(graph_.output())]);
    if (chunk == 0) {
      clip = std::move(made);
      continue;
    }
    last = std::move(made);
    log_.name(address_of(last), "frames decoded last");
    clip = joined([&] { return at::cat({clip, last}, 2); }, "clip");
  }
  clip = joined([&] { return at::clamp(clip, -1, 1); }, "clip");
  operators_->forget();
  return clip;
}

void EagerRun::run_chunk(int64_t chunk) {
  for (size_t i = 0; i < order_.size(); ++i) {
    if (of_clips_ && operators_->before_frames(graph_.op(order_[i]))) continue;
    run(i, chunk);
    for (size_t t = 0; t < until_.size(); ++t) {
      if (until_[t] == i) held_[t].reset();
    }
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
    log_.name(address_of(*kept), (of_clips_ ? "frames kept for " : "channels repeated for ") + op.name);
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

at::Tensor EagerRun::decode_tiles(const at::Tensor& latent, const TileRule& rule) {
  std::vector<std::vector<at::Tensor>> rows;
  for (int64_t y = 0; y < latent.size(2); y += rule.stride) {
    rows.emplace_back();
    for (int64_t x = 0; x < latent.size(3); x += rule.stride) {
      const at::Tensor tile = latent.narrow(2, y, std::min(rule.extent, latent.size(2) - y))
                                  .narrow(3, x, std::min(rule.extent, latent.size(3) - x));
      rows.back().push_back(decode(tile));
      log_.name(address_of(rows.back().back()), "tiles");
    }
  }
  return blended(rows, rule);
}

/// Tiles are faded where they are, what comes after the fades is put side by side, and all of it is there
/// until the picture is.
at::Tensor EagerRun::blended(std::vector<std::vector<at::Tensor>>& rows, const TileRule& rule) {
  const int64_t scale = graph_.tensor(graph_.output()).scale.y, own = rule.extent * scale - rule.fade;
  std::vector<at::Tensor> made;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = [&] {
      std::vector<at::Tensor> parts;
      for (size_t j = 0; j < rows[i].size(); ++j) {
        const at::Tensor& tile = rows[i][j];
        if (i > 0) fade(rows[i - 1][j], tile, 2, rule.fade);
        if (j > 0) fade(rows[i][j - 1], tile, 3, rule.fade);
        parts.push_back(
            tile.narrow(2, 0, std::min(own, tile.size(2))).narrow(3, 0, std::min(own, tile.size(3))));
      }
      return at::cat(parts, 3);
    };
    made.push_back(joined(row, "rows of tiles"));
  }
  return joined([&] { return at::cat(made, 2); }, "picture");
}

}  // namespace headroom::profiler
