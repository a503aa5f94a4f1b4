#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "profiler/history/memory_history.h"

namespace headroom::reports {

/// A decoder and a size that a recording may be of.
struct DecoderFit {
  Request request;                          ///< its model is a built-in's name, or the one that was given
  std::vector<std::string> same_decoder{};  ///< other built-in models with the same layers
  bool frames_known = true;                 ///< else a clip had at least so many before memory ran out
};

/// The decoder and the picture, as far as the recording of a decode shows them.
struct DecoderGuess {
  std::string class_name;   ///< by stacks; empty where they name none
  int64_t allocations = 0;  ///< in whose stacks its decode() is
  bool known_class = true;  ///< some model is of that class
  bool tiled = false;       ///< it decoded tiles: sizes are of these
  size_t matched = 0;       ///< how many of the `compared` largest tensor sizes the fits' layers have
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

/// "sdxl 1024x1024 fp32", with frames where there are several.
std::string words_of(const DecoderFit& fit);
/// The guess and its evidence in sentences. Without a clear guess, they say what is missing and which options
/// supply it.
std::vector<std::string> guess_sentences(const DecoderGuess& guess);

}  // namespace headroom::reports
