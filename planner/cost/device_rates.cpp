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

/// A card for servers, tensor cores on 16-bit tiles.
constexpr DeviceRates kCard{
    .convolution_flops_per_second = 400e12,
    .attention_flops_per_second = 300e12,
    .narrow_flops_per_second = 5e12,
    .bytes_per_second = 2.5e12,
    .memory_bound = true,
    .step_seconds = 6e-6,  // launching a kernel
    .weights_bytes_per_second = 5e9,
    .host_bytes_per_second = 25e9,  // pinned memory
    .both_ways = true,
};
constexpr double kCardFlopsPerSecondInFp32 = 40e12;

}  // namespace

DeviceRates assumed_rates(DeviceKind device, Dtype dtype) {
  if (device == DeviceKind::cpu) return kTwoCores;
  DeviceRates rates = kCard;
  if (dtype == Dtype::fp32)
    rates.convolution_flops_per_second = rates.attention_flops_per_second = kCardFlopsPerSecondInFp32;
  return rates;
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
