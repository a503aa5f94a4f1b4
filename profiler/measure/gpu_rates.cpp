#include "profiler/measure/gpu_rates.h"

#include <algorithm>
#include <memory>

#include "decoder/gpu/memory/gpu_reservation.h"
#include "decoder/schedule/weights_bytes.h"

namespace headroom::profiler {
namespace {

constexpr int64_t kCopied = int64_t{64} << 20;
constexpr int kCopies = 8;
constexpr double kLeastSeconds = 1e-9;

void wait(gpu::Gpu& gpu, gpu::Stream stream) {
  gpu.wait_on_host(gpu.record(stream));
}

/// Throughput of back-to-back copies. The first copy is a warm-up and does not count.
double copied_bytes_per_second(gpu::Gpu& gpu, gpu::Stream stream, std::byte* to, const std::byte* from,
                               const Clock& clock) {
  gpu.copy(stream, to, from, kCopied);
  wait(gpu, stream);
  const double start = clock();
  for (int i = 0; i < kCopies; ++i) gpu.copy(stream, to, from, kCopied);
  wait(gpu, stream);
  return double(kCopies * kCopied) / std::max(kLeastSeconds, clock() - start);
}

}  // namespace

GpuRates measure_gpu_rates(gpu::Gpu& gpu, const Graph& graph, Dtype dtype, const HostWeights& weights,
                           const Clock& clock) {
  const int64_t weights_bytes = resident_weights_bytes(graph, {DeviceKind::cuda, dtype});
  const GpuReservation reservation(gpu, std::max(weights_bytes, kCopied));
  PinnedStaging staging(gpu);
  GpuRates rates;
  for (int run = 0; run < 2; ++run) {
    wait(gpu, gpu::Stream::compute);
    const double start = clock();
    const std::shared_ptr<void> memory(reservation.base(), [](void*) {});
    const GpuWeights loaded(graph, all_operations(graph), dtype, memory, {weights, staging});
    wait(gpu, gpu::Stream::compute);
    rates.weights_bytes_per_second = double(weights_bytes) / std::max(kLeastSeconds, clock() - start);
  }
  std::byte* const host = gpu.reserve_host(kCopied);
  gpu.wait(gpu::Stream::to_host, gpu.record(gpu::Stream::compute));
  rates.to_host_bytes_per_second =
      copied_bytes_per_second(gpu, gpu::Stream::to_host, host, reservation.base(), clock);
  gpu.wait(gpu::Stream::from_host, gpu.record(gpu::Stream::to_host));
  rates.from_host_bytes_per_second =
      copied_bytes_per_second(gpu, gpu::Stream::from_host, reservation.base(), host, clock);
  return rates;
}

}  // namespace headroom::profiler
