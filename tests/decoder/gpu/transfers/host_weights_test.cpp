#include "decoder/gpu/transfers/host_weights.h"

#include <catch2/catch.hpp>

#include "decoder/families/load_model.h"
#include "decoder/graph/model.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/gpu_layout.h"
#include "decoder/weights/folded_convolution.h"
#include "decoder/weights/random_weights.h"

namespace headroom {
namespace {

TEST_CASE("kernels lie phase by phase, output by output, tap by tap, inputs side by side") {
  const ParameterSource source = [](const Parameter& parameter, const Interval& elements, float* out) {
    fill_random(parameter, 3, elements, out);
  };
  // Over upsampling, of several groups, over several frames.
  for (const char* folder : {"plain", "dc_odd_heads", "wan_default"}) {
    const Model model = resolve_model(std::string(HEADROOM_TEST_DATA "/golden/") + folder);
    const HostWeights weights = held(model.graph, host_weights(model.graph, source), {});
    for (const Op& op : model.graph.ops()) {
      CAPTURE(folder, op.name);
      const auto own = weights(op);
      int64_t bytes = 0;
      for (const auto* list : {&own->kernel, &own->bias, &own->scale})
        bytes += gpu::on_boundary(static_cast<int64_t>(list->size() * sizeof(float)));
      CHECK(bytes == gpu::parameter_bytes(model.graph, op, Dtype::fp32));
      if (op.kind != OpKind::conv) continue;
      const FoldedConvolution convolution(model.graph, op, source);
      const KernelShape& shape = convolution.shape();
      const int64_t inputs = convolution.group_inputs(), phases = shape.upsamples ? 2 : 1;
      const int64_t rows = shape.direct_rows() / phases, columns = shape.direct_columns() / phases;
      std::vector<float> taps(static_cast<size_t>(shape.frames * inputs * convolution.frame_taps()));
      auto value = own->kernel.begin();
      bool equal = true;
      for (int64_t phase = 0; phase < phases * phases; ++phase) {
        for (int64_t output = 0; output < shape.outputs; ++output) {
          convolution.read_taps(output, {0, inputs}, taps.data());
          for (int64_t frame = 0; frame < shape.frames; ++frame) {
            for (int64_t y = phase / 2 * rows; y < phase / 2 * rows + rows; ++y) {
              for (int64_t x = phase % 2 * columns; x < phase % 2 * columns + columns; ++x) {
                for (int64_t input = 0; input < inputs; ++input) {
                  equal = equal &&
                          *value++ ==
                              taps[static_cast<size_t>(((frame * inputs + input) * shape.direct_rows() + y) *
                                                           shape.direct_columns() +
                                                       x)];
                }
              }
            }
          }
        }
      }
      CHECK(equal);
      CHECK(value == own->kernel.end());
    }
  }
}

}  // namespace
}  // namespace headroom
