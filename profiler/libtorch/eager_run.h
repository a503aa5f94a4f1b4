#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/recipe.h"
#include "profiler/eager/allocation_log.h"
#include "profiler/eager/layer_order.h"
#include "profiler/libtorch/eager_device.h"
#include "profiler/libtorch/eager_operators.h"

namespace headroom::profiler {

/// Runs a decoder's operations on LibTorch in the order of diffusers' code, holds each result as long as
/// variables there hold it, and tells the log which layer runs and what is called what.
class EagerRun {
 public:
  /// All must outlive it. `running` hears the name of each layer. Throws InputError for a class whose code is
  /// not known here.
  EagerRun(const Model& model, const EagerWeights& weights, const EagerDevice& device, AllocationLog& log,
           std::function<void(const Op&)> running);

  /// What the log calls the layer that joins frames or blends tiles: the one behind the graph's operations.
  size_t joining() const { return graph_.ops().size(); }

  /// The picture of a latent, N×C×H×W; of a class of clips both have an axis for the time.
  at::Tensor decode(const at::Tensor& latent);
  /// The same in tiles that are blended.
  at::Tensor decode_tiles(const at::Tensor& latent, const Recipe& recipe);

 private:
  at::Tensor decode_clip(const at::Tensor& latent);
  at::Tensor tile_of_clip(const at::Tensor& latent);
  /// What one frame of a clip's latent, at `input` in the graph, is decoded to.
  at::Tensor decode_frame(TensorId input, const at::Tensor& frame, int64_t chunk);
  /// Of all frames, or of all tiles: what is done to them at the end.
  at::Tensor finished(at::Tensor clip, bool clamps);
  void run_stage(EagerStage stage, int64_t chunk);
  void run(size_t place, int64_t chunk);
  /// Of blocks whose first operation this is.
  void copy_inputs(size_t place);
  void drop_after(size_t place);
  /// Makes a tensor as this layer's result.
  at::Tensor logged(size_t layer, const std::function<at::Tensor()>& make);
  /// As one more layer.
  at::Tensor joined(const std::function<at::Tensor()>& join, const char* name);

  const Graph& graph_;
  const EagerDevice& device_;
  AllocationLog& log_;
  std::function<void(const Op&)> running_;
  EagerClass of_{};
  std::unique_ptr<EagerOperators> operators_;
  std::vector<OpId> order_;
  std::vector<size_t> until_;
  std::vector<CopiedInput> copied_;
  std::vector<at::Tensor> copies_;  ///< of these
  TensorId decoded_;                ///< what the last operation of a frame makes
  std::vector<at::Tensor> held_;    ///< by tensor of the graph
  // Variables that the code of clips leaves as they are when a tile is done.
  std::vector<at::Tensor> frames_of_tile_;
  at::Tensor decoded_last_;
};

}  // namespace headroom::profiler
