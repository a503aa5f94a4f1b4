#pragma once

#include "decoder/files/picture_sink.h"
#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// Of the picture or clip that a request asks this decoder for.
inline PictureShape picture_shape(const Graph& graph, const Request& request) {
  return {request.batch, graph.tensor(graph.output()).channels, request.frames, request.height_pixels,
          request.width_pixels};
}

}  // namespace headroom
