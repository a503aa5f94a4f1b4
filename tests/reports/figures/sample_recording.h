#pragma once

#include "profiler/eager/recording_file.h"

namespace headroom::reports::test {

inline profiler::RecordedEagerDecode decode_of(int64_t width, int64_t height) {
  return {.width_pixels = width,
          .height_pixels = height,
          .frames = 1,
          .batch = 1,
          .peak_bytes = 1000 + width,
          .peak_layer = "decoder.conv_in",
          .peak_live = {{"decoder.conv_in", 600}, {"weights", 400 + width}},
          .counted_peak_bytes = 0,
          .smallest_limit_bytes = 0,
          .seconds = 2,
          .layers = {{"decoder.conv_in", "conv", 600, 100, 1000 + width, 1.5},
                     {"decoder.conv_out", "conv", 30, 0, 500, 0.5}},
          .moment_seconds = {0, 0.5, 1.5, 2},
          .moment_bytes = {400, 700, 1000 + width, 500}};
}

inline profiler::EagerRecording made_up_recording() {
  profiler::EagerRecording recording{.model = "sdxl",
                                     .class_name = "AutoencoderKL",
                                     .dtype = Dtype::fp32,
                                     .device_kind = DeviceKind::cpu,
                                     .device = "a processor",
                                     .libraries = "LibTorch 2.11.0",
                                     .threads = 2,
                                     .weights_bytes = 400,
                                     .decodes = {decode_of(64, 32), decode_of(640, 32)}};
  recording.decodes[0].counted_peak_bytes = 1064 + 532;
  recording.decodes[0].smallest_limit_bytes = 600;
  recording.decodes[1].frames = 5;
  recording.decodes[1].layers.push_back({"join", "join", 20, 0, 300, 0.25});
  return recording;
}

}  // namespace headroom::reports::test
