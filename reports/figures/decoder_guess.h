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

/// What the recording of a decode says of the decoder and the picture.
struct DecoderGuess {
  std::string class_name;   ///< by stacks; empty where they name none
  int64_t allocations = 0;  ///< in whose stacks its decode() is
  bool known_class = true;  ///< some model is of that class
  bool tiled = false;       ///< it decoded tiles: sizes are of these
  size_t matched = 0;       ///< of the `compared` largest sizes of tensors those that the fits' layers have
  size_t compared = 0;
  /// Those that fit alike: one is a guess that leaves little doubt, several are for a person to choose from,
  /// none where the sizes are not recognised. Pictures lie on their longer side: bytes do not tell.
  std::vector<DecoderFit> fits;
};

/// Holds what was recorded against `model`, or where none is given against the built-in models, for one
/// picture or clip in the latent: several have the bytes of a larger one.
DecoderGuess guess_decoder(const profiler::MemoryHistory& history, const profiler::DeviceHistory& device,
                           const std::optional<Model>& model = {});

/// "sdxl 1024x1024 fp32", with frames where there are several.
std::string words_of(const DecoderFit& fit);
/// What was guessed and from what, or what leaves it open and how to say it: a sentence each.
std::vector<std::string> guess_sentences(const DecoderGuess& guess);

}  // namespace headroom::reports
