#pragma once

#include <memory>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/session/environment.h"
#include "decoder/session/gpu_session.h"
#include "decoder/session/session.h"
#include "tests/support/decoding.h"

namespace headroom::test {

/// GPU of the test executable: emulated, or this machine's. Returns null if there is none; CTest then counts
/// the test as skipped.
std::unique_ptr<gpu::Gpu> decoding_gpu();

inline Decoded on_gpu(gpu::Gpu& gpu, const Model& model, const Plan& plan, const Array& latent,
                      uint64_t seed) {
  start_libraries(2);
  MemorySink sink(picture_shape(model, plan.request));
  RunStats stats = decode(model, plan, random_source(seed), latent, sink, {nullptr, {}, &gpu});
  sink.finish();
  REQUIRE(sink.overwritten == 0);
  return {std::move(sink.picture), std::move(stats)};
}

}  // namespace headroom::test
