#include <catch2/catch.hpp>
#include <vector>

#include "decoder/gpu/cuda/library_calls/convolution_chunks.h"
#include "decoder/lowering/gpu_layout.h"

// A decoder's last convolution, to the three channels of the picture.
namespace headroom::gpu {
namespace {

/// Wants 16 bytes of workspace for every output position, as cuDNN does where there are three outputs: it
/// pads them to eight. With less it has slower ways.
class PaddingEngine : public ConvolutionEngine {
 public:
  std::vector<ConvolutionChunk> chunks;
  int64_t positions = 0;

  static int64_t wanted_bytes(const ConvolutionProblem& problem) {
    return 16 * problem.frames * problem.rows * problem.columns;
  }
  Fit fit(const ConvolutionProblem& problem, int64_t workspace_bytes) override {
    return wanted_bytes(problem) <= workspace_bytes ? Fit::good : Fit::poor;
  }
  void convolve(const ConvolutionChunk& chunk) override {
    CHECK(fit(chunk.problem, chunk.workspace_bytes) == Fit::good);
    chunks.push_back(chunk);
    positions += chunk.problem.frames * chunk.problem.rows * chunk.problem.columns;
  }
  void interleave(const Interleave&) override {}
};

TEST_CASE("a convolution to three channels is cut into chunks of rows that its workspace is enough for") {
  struct Case {
    int32_t frames, rows, columns;
    size_t chunks;
  };
  for (const Case tile : {Case{1, 16, 16, 1},
                          {1, 1024, 1024, 1},
                          {1, 1448, 1448, 1},
                          {1, 1500, 1500, 2},
                          {1, 2048, 2048, 2},
                          {1, 4096, 4096, 8},
                          {1, 8192, 8192, 32},
                          {1, 64, 100'000, 4},
                          {17, 480, 832, 4}}) {
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp32}) {
      CAPTURE(tile.frames, tile.rows, tile.columns, name_of(dtype));
      const KernelShape kernel{.inputs = 128, .outputs = 3, .rows = 3, .columns = 3};
      Convolve call;
      call.shape = {.inputs = 128, .outputs = 3, .rows = 3, .columns = 3};
      call.region = {{0, tile.frames}, {0, tile.rows}, {0, tile.columns}};
      call.input.base = reinterpret_cast<std::byte*>(4096);  // nothing reads it
      call.input.region = {{0, tile.frames}, {-1, tile.rows + 1}, {-1, tile.columns + 1}};
      call.input.block_rows = tile.rows + 2;
      call.input.channels = 128;
      call.target.base = call.input.base;
      call.target.region = call.region;
      call.target.block_rows = tile.rows;
      call.target.channels = 3;
      call.input.dtype = call.target.dtype = dtype;
      call.workspace_bytes =
          convolution_workspace_bytes(kernel, {tile.frames, tile.rows, tile.columns}, dtype);
      PaddingEngine engine;
      CHECK(convolve_in_chunks(call, engine).empty());
      CHECK(engine.positions == int64_t{tile.frames} * tile.rows * tile.columns);
      CHECK(engine.chunks.size() == tile.chunks);
    }
  }
}

}  // namespace
}  // namespace headroom::gpu
