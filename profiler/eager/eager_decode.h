#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"

// Memory of the decode that people run today: diffusers' own code, operator by operator on LibTorch, untiled.
// Its lifetimes are those of Python's variables, so they can be counted:
//
//     caller            hidden_states = up_block(hidden_states)
//                       |------------- held until the block returns ------------|
//     up_block                 x = resnet(x)       x = resnet(x)
//                              |--- held ---|      |--- held ---|
//     resnet                   norm  silu  conv …  add
//                              |-----| |-----| …       each result until the next one takes its name
//
// An operator's own memory, such as copies in another layout and intermediate results, is its workspace.
namespace headroom::profiler {

/// One operation of the graph where it took most: of clips that are decoded chunk by chunk, in that chunk.
struct EagerLayer {
  int64_t activation_bytes = 0;  ///< its result; 0 where the operation is part of another one
  int64_t workspace_bytes = 0;   ///< beside inputs and result, at its highest moment
  int64_t live_bytes = 0;        ///< all that is held then, weights included
};

struct EagerTensor {
  std::string name;
  int64_t bytes = 0;
  friend bool operator==(const EagerTensor&, const EagerTensor&) = default;
};

struct EagerDecode {
  int64_t weights_bytes = 0;           ///< in the request's dtype, as the model's file has them
  int64_t peak_bytes = 0;              ///< the most that the allocator has handed out, weights included
  OpId peak_layer{-1};                 ///< that ran then
  std::vector<EagerTensor> peak_live;  ///< what was held then, largest first
  std::vector<EagerLayer> layers;      ///< by operation of the graph
};

/// Memory that an untiled decode of this request by diffusers holds. Nothing for a family whose record has no
/// EagerNetwork. On the CPU convolutions go to oneDNN, which copies what is not channels-last; on a GPU the
/// workspace of cuDNN is not counted. `model` is the one for the request's frames.
std::optional<EagerDecode> eager_decode(const Model& model, const Request& request);

}  // namespace headroom::profiler
