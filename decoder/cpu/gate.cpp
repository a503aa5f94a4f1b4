#include <vector>

#include "decoder/cpu/cpu_steps.h"
#include "decoder/cpu/loops/norm.h"
#include "decoder/cpu/loops/storage.h"
#include "decoder/cpu/rows.h"

namespace headroom::cpu_steps {

void gate(CpuSteps&, const StepCall& call) {
  const MapView &source = call.inputs[0], &target = call.target;
  const int64_t channels = target.channels;
  for_rows(call.items, call.region, call.region.x.length() * source.channels, [&](const Row& row) {
    std::vector<float> pixel(static_cast<size_t>(source.channels));
    float* gates = pixel.data() + channels;
    for (int64_t x = call.region.x.begin; x < call.region.x.end; ++x) {
      kernels::widen(source.dtype, source.place(row, x), pixel.data(), source.channels);
      kernels::activate(gates, channels, Activation::silu);
      float* to = target.at(row, x);
      for (int64_t c = 0; c < channels; ++c) to[c] = pixel[static_cast<size_t>(c)] * gates[c];
    }
  });
}

}  // namespace headroom::cpu_steps
