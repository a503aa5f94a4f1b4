#pragma once

#include <vector>

#include "decoder/files/array.h"

namespace headroom {

/// Converts a pipeline's latent to the decoder's input: z * factor + offset, per channel.
struct LatentScaling {
  std::vector<double> factor, offset;
  /// True if every factor is 1 and every offset is 0.
  bool changes_nothing() const;
  /// Standard deviation of the decoder's input for a pipeline's latent with a deviation of 1.
  double input_deviation() const;
};

/// Kind of a latent, judged by its values.
enum class LatentKind { doubtful, of_pipeline, decoder_input };

struct LatentEvidence {
  double standard_deviation = 0;  ///< of all values
  LatentKind kind = LatentKind::doubtful;
  bool pipeline_is_likelier =
      false;  ///< the values fit a pipeline's latent, and no worse than an unscaled one
};

/// Classifies a latent by its root mean square (RMS). Pipelines scale latents so that each channel has mean
/// 0 and deviation 1 over many pictures. One picture's RMS may be off by a factor of 2. So a latent gets a
/// kind if its RMS under that reading is off by at most a factor of 2, and the other reading is off by at
/// least 1.6 times as much. The latent is N×C×…, with the scaling's channels.
LatentEvidence latent_evidence(const LatentScaling& scaling, const Array& latent);

}  // namespace headroom
