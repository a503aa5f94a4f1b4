#pragma once

#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"

namespace headroom {

/// Shape of the output that a request asks for: a decoder's picture or clip, an encoder's latent.
inline PictureShape picture_shape(const Graph& graph, const Request& request) {
  const Tensor& output = graph.tensor(graph.output());
  const Extent extent = extent_of(output, latent_of(graph, request));
  return {request.batch, output.channels, extent.t, extent.y, extent.x};
}

/// Shape of the picture or clip that a latent, N×C×H×W or N×C×T×H×W, decodes to.
inline PictureShape picture_shape(const Graph& graph, const Array& latent) {
  const Tensor& output = graph.tensor(graph.output());
  const Extent extent = extent_of(output, extent_of_array(latent.shape));
  return {latent.shape[0], output.channels, extent.t, extent.y, extent.x};
}

}  // namespace headroom
