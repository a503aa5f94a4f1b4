#include "planner/cost/device_rates.h"

namespace headroom::planner {
namespace {

/// Two cores with AVX-512, LibTorch 2.11: tiles are fp32 in every dtype.
constexpr DeviceRates kTwoCores{
    .convolution_flops_per_second = 170e9,
    .attention_flops_per_second = 200e9,
    .narrow_flops_per_second = 20e9,
    .bytes_per_second = 3e9,
    .step_seconds = 30e-6,  // waking threads, calling libraries
    .weights_bytes_per_second = 1e9,
    .transform_bytes_per_second = 4e9,
    .host_bytes_per_second = 12e9,      // a link of sixteen lanes, pinned memory
    .scratch_bytes_per_second = 500e6,  // a solid-state disk
};

DeviceRates gpu_rates(const GpuCard& card, Dtype dtype, Tf32 tf32) {
  return {
      .convolution_flops_per_second = card.convolution_rate(dtype, tf32.convolutions),
      .attention_flops_per_second = card.attention_rate(dtype, tf32.products),
      .narrow_flops_per_second = card.narrow_flops_per_second,
      .weights_bytes_per_second = card.weights_bytes_per_second,
      .host_bytes_per_second = card.host_bytes_per_second,
      .both_ways = true,
  };
}

}  // namespace

GpuCard GpuCard::assumed(DeviceKind device) {
  if (device != DeviceKind::torch) return {};
  // A T4, by its data sheet and half of its peaks. Each call is a few operations of PyTorch.
  return {.multiprocessors = 40,
          .dram_bytes_per_second = 2.4e11,
          .l2_bytes_per_second = 5e11,
          .l2_share_bytes = 2e6,
          .convolution_flops_per_second = 25e12,
          .attention_flops_per_second = 10e12,
          .fp32_convolution_flops_per_second = 4e12,
          .fp32_narrow_convolution_flops_per_second = 4e12,
          .fp32_attention_flops_per_second = 3e12,
          .tf32_convolution_flops_per_second = 4e12,
          .tf32_attention_flops_per_second = 3e12,
          .narrow_flops_per_second = 5e11,
          .kernel_seconds = 1e-5,
          .launch_seconds = 6e-5,
          .host_bytes_per_second = 6e9,
          .emitted_bytes_per_second = 6e9};
}

DeviceRates assumed_rates(const DeviceRecord& device, Dtype dtype, Tf32 tf32) {
  return device.is_host ? kTwoCores : gpu_rates(GpuCard::assumed(device.kind), dtype, tf32);
}

bool counts_flops(const Op& op) {
  return op.kind == OpKind::conv || op.kind == OpKind::attention || op.kind == OpKind::key_value_sums ||
         op.kind == OpKind::linear_attention;
}

double flops_per_second(const DeviceRates& rates, const Op& op) {
  if (op.kind == OpKind::attention) return rates.attention_flops_per_second;
  if (op.kind == OpKind::conv && op.groups == 1) return rates.convolution_flops_per_second;
  return rates.narrow_flops_per_second;
}

}  // namespace headroom::planner
