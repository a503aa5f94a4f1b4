#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <tuple>
#include <vector>

#include "decoder/gpu/calls/workspace.h"
#include "tests/support/gpu.h"
#include "tests/support/plain_attention.h"

namespace headroom::gpu {
namespace {

using test::HeldView;
using test::length;
using test::Random;

/// Separate test cases per dtype, so that CTest can run them in parallel.
void check_attention(Dtype dtype) {
  const std::unique_ptr<Gpu> gpu = test::gpu_or_skip();
  if (!gpu) return;
  for (const int32_t channels : {40, 512}) {
    for (const int32_t key_rows : {64, 5}) {
      for (const auto& [with_workspace, key_frames, one_tensor] :
           {std::tuple(false, 1, false), std::tuple(true, 1, false), std::tuple(false, 3, false),
            std::tuple(true, 3, false), std::tuple(true, 3, true)}) {
        CAPTURE(name_of(dtype), channels, key_rows, with_workspace, key_frames, one_tensor);
        Random random(2);
        const Box whole{{0, 3}, {0, 64}, {0, 48}}, queried{{0, 1}, {20, 31}, {0, 48}};
        HeldView queries(queried, channels, length(queried.y), dtype), keys(whole, channels, key_rows, dtype),
            values(whole, channels, key_rows, dtype), target(queried, channels, length(queried.y), dtype);
        queries.fill(random, 0.9);
        keys.fill(random, 1);
        values.fill(random, 1);
        test::OnGpu memory(*gpu, int64_t{256} << 20);
        Attend call;
        call.queries = memory.send(queries);
        call.keys = memory.send(keys);
        call.values = one_tensor ? call.keys : memory.send(values);
        call.target = memory.send(target);
        call.key_frames = {0, key_frames};
        call.workspace_bytes =
            with_workspace ? attention_workspace_bytes(11 * 48, key_frames * 64 * 48, channels) : 0;
        call.workspace = memory.take(call.workspace_bytes);
        gpu->run(call);
        memory.fetch(call.target.base, target.memory);

        double worst = 0;
        for (int32_t y = queried.y.begin; y < queried.y.end; y += 10) {
          for (int32_t x = 0; x < 48; x += 23) {
            std::vector<double> query;
            for (int32_t c = 0; c < channels; ++c) query.push_back(queries.value(0, y, x, c));
            const std::vector<double> means =
                test::plain_attention(query, keys, one_tensor ? keys : values, call.key_frames);
            for (int32_t c = 0; c < channels; ++c)
              worst = std::max(worst, std::abs(means[static_cast<size_t>(c)] - target.value(0, y, x, c)));
          }
        }
        // In 16 bits, weights and results are each rounded once when stored.
        CHECK(worst < (dtype == Dtype::fp32 ? 1e-5 : dtype == Dtype::fp16 ? 1.1 * 0x1p-11 : 1.1 * 0x1p-8));
      }
    }
  }
}

TEST_CASE("attention on a GPU equals plain loops: fp32") {
  check_attention(Dtype::fp32);
}
TEST_CASE("attention on a GPU equals plain loops: fp16") {
  check_attention(Dtype::fp16);
}
TEST_CASE("attention on a GPU equals plain loops: bf16") {
  check_attention(Dtype::bf16);
}

}  // namespace
}  // namespace headroom::gpu
