#include "decoder/runtime/decode.h"

#include <ATen/ops/zeros.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/InferenceMode.h>
#include <malloc.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "decoder/graph/errors.h"
#include "decoder/runtime/convolution.h"
#include "decoder/runtime/interpreter.h"
#include "decoder/runtime/pool.h"
#include "decoder/runtime/pool_allocator.h"
#include "decoder/runtime/process_memory.h"

namespace headroom {
namespace {

void check_latent(const Model& model, const Plan& plan, const Array& latent) {
  const Extent extent = latent_extent(model, plan.request.width_pixels, plan.request.height_pixels, plan.request.frames);
  const std::vector<int64_t> expected{plan.request.batch, model.latent_channels, extent.y, extent.x};
  std::vector<int64_t> found = latent.shape;
  if (found.size() == 5 && found[2] == 1) found.erase(found.begin() + 2);
  if (found == expected) return;
  const auto text = [](const std::vector<int64_t>& shape) {
    std::string joined;
    for (int64_t length : shape) joined += (joined.empty() ? "" : "x") + std::to_string(length);
    return joined;
  };
  throw InputError("latent: expected shape " + text(expected) + " as planned, found " + text(latent.shape));
}

}  // namespace

void start_libraries(int threads) {
  // oneDNN and LibTorch's layer above it each remember what they made for the last 1024 shapes of convolutions, some
  // 28 KiB for each shape in either. Tiles at edges make many shapes. 32 hold those of a band of the deepest pass.
  // Both read the environment when they first make one; what the user set there stays.
  setenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32", 0);
  setenv("LRU_CACHE_CAPACITY", "32", 0);
  mallopt(M_ARENA_MAX, 1);  // all threads share one heap: what one frees serves the others
  if (threads > 0) at::set_num_threads(threads);
  const c10::InferenceMode inference;
  Tile input = make_tile({{0, 1}, {0, 34}, {0, 34}}, 32, 1);
  input.values.zero_();
  const at::Tensor weight = at::zeros({32, 3, 3, 32}, at::kFloat).permute({0, 3, 1, 2});
  convolve(input, weight, at::zeros({32}, at::kFloat), {{0, 1}, {0, 32}, {0, 32}});
}

std::string library_versions() {
  const std::string config = at::show_config();
  const std::string key = "MKL-DNN v";
  const size_t begin = config.find(key);
  const std::string onednn = begin == std::string::npos
                                 ? "none"
                                 : config.substr(begin + key.size(), config.find(' ', begin + key.size()) - begin - key.size());
  return std::string("LibTorch ") + TORCH_VERSION + ", oneDNN " + onednn;
}

std::string device_name() {
  std::ifstream in("/proc/cpuinfo");
  std::string line, name = "CPU";
  while (std::getline(in, line)) {
    if (line.rfind("model name", 0) != 0) continue;
    name = line.substr(line.find(':') + 2);
    break;
  }
  return name + ", " + std::to_string(at::get_num_threads()) + " threads";
}

RunStats decode(const Model& model, const Plan& plan, const ParameterSource& source, const Array& latent, PictureSink& sink,
                EventSink* events, const std::function<void(double)>& loading) {
  if (plan.request.dtype != Dtype::fp32) {
    throw InputError(std::string("dtype ") + name_of(plan.request.dtype) +
                     ": this version decodes in fp32; plan with --dtype fp32");
  }
  check_latent(model, plan, latent);
  const c10::InferenceMode inference;
  reset_peak_resident();
  const int64_t resident_before = resident_bytes();
  const auto start = std::chrono::steady_clock::now();

  Pool pool(plan.limit_bytes - plan.reserve_bytes, plan.predicted_peak_bytes - plan.reserve_bytes);
  RunStats stats;
  {
    const PoolScope scope(pool);
    const Weights weights = [&] {
      try {
        return Weights(model.graph, source, loading);
      } catch (const LimitExceeded& refused) {
        throw LimitExceeded(std::string("loading the weights: ") + refused.what());
      }
    }();
    for (const Pass& pass : plan.passes) {
      stats.passes.push_back({pass.name, pass.predicted_peak_bytes, 0, pass.predicted_seconds, 0});
    }
    for (int64_t item = 0; item < plan.request.batch; item += plan.slice) {
      Plan slice = plan;
      slice.slice = std::min(plan.slice, plan.request.batch - item);  // the last one may be shorter
      Interpreter interpreter(model, slice, weights, pool, events);
      interpreter.run(latent, item, sink);
      for (size_t i = 0; i < plan.passes.size(); ++i) {
        const PassMeasurement& measured = interpreter.measurements()[i];
        stats.passes[i].peak_bytes = std::max(stats.passes[i].peak_bytes, measured.peak_bytes);
        stats.passes[i].seconds += measured.seconds;
      }
    }
  }
  stats.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  stats.limit_bytes = plan.limit_bytes;
  stats.predicted_peak_bytes = plan.predicted_peak_bytes;
  stats.predicted_seconds = plan.predicted_seconds;
  stats.pool_peak_bytes = pool.peak_bytes();
  stats.rss_growth_bytes = std::max<int64_t>(0, headroom::peak_resident_bytes() - resident_before);
  stats.outside_bytes = std::max<int64_t>(0, stats.rss_growth_bytes - pool.peak_resident_bytes());
  stats.peak_bytes = stats.pool_peak_bytes + stats.outside_bytes;
  stats.device = device_name();
  stats.libraries = library_versions();
  stats.threads = at::get_num_threads();
  return stats;
}

}  // namespace headroom
