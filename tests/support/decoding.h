#pragma once

#include <catch2/catch.hpp>

#include "decoder/operations/operation.h"
#include "decoder/session/environment.h"
#include "decoder/session/session.h"
#include "decoder/weights/random_weights.h"
#include "tests/support/picture.h"

namespace headroom::test {

inline ParameterSource random_source(uint64_t seed) {
  return [seed](const Parameter& parameter, const Interval& elements, float* out) {
    fill_random(parameter, seed, elements, out);
  };
}

/// Random latent of unit variance for the request.
inline Array latent_for(const Model& model, const Request& request, uint64_t seed) {
  const Extent extent = latent_extent(model, request.width_pixels, request.height_pixels, request.frames);
  return random_latent(input_shape(model, extent, request.batch), seed);
}

struct Decoded {
  Array picture;
  RunStats stats;
};

/// Decodes into memory. Requires that each output position is written exactly once.
inline Decoded decode_to_memory(const Model& model, const Plan& plan, const ParameterSource& weights,
                                const Array& latent, EventSink* events = nullptr) {
  start_libraries(2);
  MemorySink sink(picture_shape(model, plan.request));
  RunStats stats = decode(model, plan, weights, latent, sink, events);
  sink.finish();
  REQUIRE(sink.overwritten == 0);
  return {std::move(sink.picture), std::move(stats)};
}

}  // namespace headroom::test
