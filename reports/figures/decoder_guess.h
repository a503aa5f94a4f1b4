#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "profiler/history/memory_history.h"

namespace headroom::reports {

/// A decoder and a size that match a recording.
struct DecoderFit {
  Request request;                          ///< its model is a built-in name, or the given model
  std::vector<std::string> same_decoder{};  ///< other built-in models with the same layers
  bool frames_known = true;                 ///< false: memory ran out first, and the frames are a lower bound
};

/// The decoder and the picture size, as far as a recorded decode shows them.
struct DecoderGuess {
  std::string class_name;   ///< class in the recorded stacks; empty: none
  int64_t allocations = 0;  ///< number of allocations with the class's decode() in their stacks
  bool known_class = true;  ///< a candidate model is of that class
  bool tiled = false;       ///< the decode was tiled, so sizes are of tiles
  size_t matched = 0;       ///< number of the `compared` largest tensor sizes that the fits' layers explain
  size_t compared = 0;
  /// Decoders that fit equally well. One fit leaves little doubt. Several are for the user to choose from.
  /// None: the decode was tiled, or the tensor sizes match no decoder. Bytes do not show the orientation, so
  /// pictures are landscape.
  std::vector<DecoderFit> fits;
};

/// Compares the recording with `model`, or with the built-in models if none is given. Assumes one picture or
/// clip in the latent, since a batch has the bytes of a larger picture.
DecoderGuess guess_decoder(const profiler::MemoryHistory& history, const profiler::DeviceHistory& device,
                           const std::optional<Model>& model = {});

/// "sdxl 1024x1024 fp32"; with frames for a clip.
std::string words_of(const DecoderFit& fit);
/// The guess and its evidence in sentences. Without a clear guess, they say what is missing and which options
/// supply it.
std::vector<std::string> guess_sentences(const DecoderGuess& guess);

}  // namespace headroom::reports
