#include "decoder/cuda/cudnn_plans.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "decoder/graph/errors.h"

namespace headroom::gpu {
namespace {

/// What cuDNN knows of an H200, as it writes it itself; with this it plans without one.
const std::string kProperties = R"({
  "deviceName": "NVIDIA H200", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0, "pciDeviceId": 0,
  "multiProcessorCount": 132, "warpSize": 32, "totalGlobalMem": 150754820096, "l2CacheSize": 62914560,
  "smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "isTccDriver": 0, "supportCoopLaunch": 1,
  "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024,
  "maxThreadsPerSM": 2048, "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024})";

constexpr int64_t kMiB = int64_t{1} << 20;

/// Of packed tiles; the input may have more columns than are read.
ConvolutionProblem problem(Dtype dtype, int32_t inputs, int32_t outputs, int32_t taps, int64_t rows,
                           int64_t columns, int64_t more_columns = 0) {
  ConvolutionProblem result;
  result.dtype = dtype;
  result.inputs = inputs;
  result.outputs = outputs;
  result.taps_y = result.taps_x = taps;
  result.rows = rows;
  result.columns = columns;
  result.input_row = (result.input_columns() + more_columns) * inputs;
  result.input_frame = result.input_rows() * result.input_row;
  result.output_row = columns * outputs;
  result.output_frame = rows * result.output_row;
  return result;
}

ConvolutionProblem over_time(ConvolutionProblem result, int32_t taps, int64_t frames) {
  result.taps_t = taps;
  result.frames = frames;
  return result;
}

TEST_CASE("16-bit convolutions of decoders run on tensor cores within little workspace") {
  CudnnPlans plans(kProperties);
  const Dtype dtype = GENERATE(Dtype::fp16, Dtype::bf16);
  const std::vector<ConvolutionProblem> problems{
      problem(dtype, 512, 512, 3, 128, 128),                   // SDXL's decoder at 1024×1024
      problem(dtype, 512, 512, 1, 128, 128),                   //
      problem(dtype, 512, 512, 2, 65, 129),                    // a phase over upsampling
      problem(dtype, 512, 256, 3, 64, 512),                    //
      problem(dtype, 256, 128, 3, 64, 1024),                   //
      problem(dtype, 128, 3, 3, 64, 1024),                     //
      over_time(problem(dtype, 384, 384, 3, 60, 104), 3, 20),  // Wan's
      over_time(problem(dtype, 96, 96, 3, 120, 208), 1, 8),    // frames as a batch
      problem(dtype, 512, 512, 3, 512, 512),
  };
  for (const ConvolutionProblem& each : problems) {
    CAPTURE(name_of(dtype), each.inputs, each.outputs, each.taps_y, each.rows, each.columns);
    const CudnnPlan* plan = plans.find(each, 4 * kMiB);
    REQUIRE(plan != nullptr);
    CHECK(plan->tensor_cores);
    CHECK(plan->workspace_bytes <= 4 * kMiB);
    CHECK(plans.fit(each, 4 * kMiB) == ConvolutionEngine::Fit::good);
  }
}

TEST_CASE("fp32 convolutions run without TF32, whatever the workspace") {
  CudnnPlans plans(kProperties);
  const std::vector<ConvolutionProblem> problems{
      problem(Dtype::fp32, 4, 512, 3, 128, 128),   problem(Dtype::fp32, 512, 512, 3, 128, 128),
      problem(Dtype::fp32, 512, 512, 1, 128, 128), problem(Dtype::fp32, 512, 512, 2, 65, 129),
      problem(Dtype::fp32, 256, 128, 3, 64, 1024), over_time(problem(Dtype::fp32, 96, 96, 3, 60, 104), 3, 8)};
  for (const ConvolutionProblem& each : problems) {
    CAPTURE(each.inputs, each.outputs, each.taps_y);
    for (const int64_t workspace : {int64_t{0}, 16 * kMiB, 1024 * kMiB}) {
      const CudnnPlan* plan = plans.find(each, workspace);
      REQUIRE(plan != nullptr);
      CHECK_FALSE(plan->tensor_cores);
      CHECK(plan->workspace_bytes <= workspace);
    }
  }
}

TEST_CASE("a window of a wider tile is copied, so it fits well only where there is workspace for that") {
  CudnnPlans plans(kProperties);
  const ConvolutionProblem window = problem(Dtype::fp16, 128, 128, 3, 256, 1024, 2);
  CHECK(plans.fit(window, 128 * kMiB) == ConvolutionEngine::Fit::good);
  CHECK(plans.fit(window, 16 * kMiB) == ConvolutionEngine::Fit::poor);
  const ConvolutionProblem slice = problem(Dtype::fp16, 128, 128, 3, 32, 1024, 2);
  CHECK(plans.fit(slice, 16 * kMiB) == ConvolutionEngine::Fit::good);
}

TEST_CASE("plans are made once for each problem") {
  CudnnPlans plans(kProperties);
  const ConvolutionProblem one = problem(Dtype::fp16, 64, 64, 3, 32, 32);
  const CudnnPlan* plan = plans.find(one, 16 * kMiB);
  REQUIRE(plan != nullptr);
  CHECK(plans.find(one, 16 * kMiB) == plan);
  ConvolutionProblem other = one;
  other.alignment = 4;
  CHECK(plans.find(other, 16 * kMiB) != plan);
}

TEST_CASE("what cuDNN refuses is told by name, in one line") {
  try {
    CudnnPlans plans(std::string("{"));
    FAIL("taken");
  } catch (const DeviceError& error) {
    const std::string line = error.what();
    CHECK_THAT(line, Catch::Matchers::Contains("cudnn") && Catch::Matchers::Contains("CUDNN_STATUS"));
    CHECK(line.find('\n') == std::string::npos);
  }
}

}  // namespace
}  // namespace headroom::gpu
