#pragma once

#include <algorithm>
#include <string>

#include "decoder/trace/trace_file.h"

namespace headroom::test {}
namespace headroom::reports::test {
using namespace headroom::test;

constexpr int64_t kGpuContextBytes = 300 << 20, kGpuReservedBytes = 100 << 20, kGpuLibraryBytes = 8 << 20;
/// Bytes that the driver counts once, in the middle, beyond the sum of all kinds.
constexpr int64_t kGpuUnseenBytes = 3 << 20;
constexpr double kGpuPassSeconds = 0.25;

/// A decode of the plan on a GPU, reported by several sources: weights and a tile in each pass out of one
/// reservation, libraries that take something with the second pass, kernels and copies on three streams. The
/// source for memory reported nothing, and some records of the others were lost.
inline Trace gpu_trace(const Plan& plan) {
  Trace trace;
  trace.model = plan.request.model;
  trace.device = "a GPU, driver 1.2";
  trace.libraries = "LibTorch 2.11.0";
  trace.request = plan.request;
  trace.limit_bytes = plan.limit_bytes;
  const TensorId none{-1};
  trace.events = {{0, kGpuContextBytes, -1, -1, none, MemoryKind::context},
                  {0, kGpuReservedBytes, -1, -1, none, MemoryKind::slack},
                  {0, 10 << 20, -1, -1, none, MemoryKind::weights, -(10 << 20)}};
  trace.activity_names = {"multiply<128, 64>", "host to device", "device to host", "memset"};
  trace.driver = {{0, kGpuContextBytes + kGpuReservedBytes}};
  int64_t all_bytes = kGpuContextBytes + kGpuReservedBytes;
  double at = 0;
  for (size_t i = 0; i < plan.passes.size(); ++i) {
    const auto number = static_cast<int32_t>(i);
    const TensorId layer = plan.passes[i].steps.front().tensor;
    const int64_t tile = (20 + number % 5) << 20;
    trace.passes.push_back({.begin_seconds = at, .end_seconds = at + kGpuPassSeconds, .pass = number});
    if (i == 1) {
      trace.events.push_back({at, kGpuLibraryBytes, -1, number, none, MemoryKind::libraries});
      all_bytes += kGpuLibraryBytes;
    }
    trace.events.push_back({at + 0.0625, tile, 0, number, layer, MemoryKind::tile, -tile});
    trace.events.push_back({at + 0.1875, -tile, 0, number, layer, MemoryKind::tile, tile});
    for (size_t step = 0; step < plan.passes[i].steps.size(); ++step) {
      trace.step_sums.push_back(
          {number, static_cast<int32_t>(step), 2, 0.03125, 0.0078125 * double(step + i)});
    }
    // A kernel, and copies both ways that share half of its time.
    const auto activity = [&](double begin, double lasting, int64_t bytes, int32_t stream, int32_t name,
                              ActivityKind kind) {
      trace.activities.push_back({at + begin, at + begin + lasting, 0, bytes, number, 0, stream, name, kind});
    };
    activity(0, 0.125, 0, 7, 0, ActivityKind::kernel);
    activity(0.0625, 0.125, 64 << 20, 13, 1, ActivityKind::copy);
    activity(0.09375, 0.0625, 32 << 20, 14, 2, ActivityKind::copy);
    activity(0.1875, 0.03125, 4096, 7, 3, ActivityKind::fill);
    at += kGpuPassSeconds;
    trace.driver.push_back({at, all_bytes + (i == 1 ? kGpuUnseenBytes : 0)});
  }
  trace.seconds = at;
  trace.activities_left_out = 3;
  trace.activities_of_no_step = 1;
  trace.records_lost = 5;
  trace.sources = {{"allocator", true, "LibTorch 2.11.0"},
                   {"CUPTI activities", true, ""},
                   {"CUPTI memory", false, "held by another profiler"}};
  return trace;
}

/// gpu_trace() in the form that its file is read into.
inline RecordedTrace recorded_gpu_trace(const Plan& plan, const Graph& graph) {
  RecordedTrace recorded;
  recorded.trace = gpu_trace(plan);
  for (const Tensor& tensor : graph.tensors()) recorded.layers.push_back(tensor.name);
  for (const Pass& pass : plan.passes) {
    recorded.pass_names.push_back(pass.name);
    for (const Step& step : pass.steps)
      recorded.steps.push_back({name_of(step.kind), static_cast<int32_t>(index(step.tensor))});
  }
  return recorded;
}

}  // namespace headroom::reports::test
