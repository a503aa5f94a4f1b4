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
};

/// Latents of pipelines are scaled so that each channel has a mean of 0 and a deviation of 1 over many
/// pictures. Of one picture the root of the mean square may be half or twice that. So a latent is held to be
/// one of the two where that reading is off by a factor of 2 at the most, and the other reading is off by
/// twice as much or more. The latent is N×C×…, with the scaling's channels.
LatentEvidence latent_evidence(const LatentScaling& scaling, const Array& latent);

}  // namespace headroom
