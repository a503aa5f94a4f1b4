#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace headroom::test {

/// A card as cuDNN plans for it: what CUDA tells of it, and its maker's data sheet.
struct Card {
  const char* name;
  int32_t architecture;  ///< compute capability, times 10
  int32_t processors;
  int64_t memory_bytes, l2_bytes;
  int64_t clock_khz, memory_clock_khz;
  int32_t threads_of_processor, blocks_of_processor;
  int64_t shared_bytes_of_block;  ///< most, where a kernel asks for it
};

/// One of each architecture that kernels are built for, but 8.6 and 10.0.
constexpr std::array<Card, 4> kCards{{
    {"NVIDIA A100-SXM4-80GB", 80, 108, 85'100'000'000, 41'943'040, 1'410'000, 1'593'000, 2048, 32, 166'912},
    {"NVIDIA L40S", 89, 142, 47'700'000'000, 100'663'296, 2'520'000, 9'001'000, 1536, 24, 101'376},
    {"NVIDIA H100 80GB HBM3", 90, 132, 84'900'000'000, 52'428'800, 1'980'000, 2'619'000, 2048, 32, 232'448},
    {"NVIDIA GeForce RTX 5090", 120, 170, 34'190'000'000, 100'663'296, 2'407'000, 14'001'000, 1536, 24,
     101'376},
}};

/// "sm_90".
inline std::string architecture_name(const Card& card) {
  return "sm_" + std::to_string(card.architecture);
}

/// The card's properties in cuDNN's own format.
inline std::string properties_of(const Card& card) {
  const nlohmann::json properties{{"deviceName", card.name},
                                  {"deviceVer", card.architecture * 10},
                                  {"driverVer", 13000},
                                  {"cudaDeviceId", 0},
                                  {"pciDeviceId", 0},
                                  {"multiProcessorCount", card.processors},
                                  {"warpSize", 32},
                                  {"totalGlobalMem", card.memory_bytes},
                                  {"l2CacheSize", card.l2_bytes},
                                  {"smClockRateKHz", card.clock_khz},
                                  {"memClockRateKHz", card.memory_clock_khz},
                                  {"isTccDriver", 0},
                                  {"supportCoopLaunch", 1},
                                  {"maxGridSize", {2147483647, 65535, 65535}},
                                  {"maxBlockSize", {1024, 1024, 64}},
                                  {"maxThreadsPerBlock", 1024},
                                  {"maxThreadsPerSM", card.threads_of_processor},
                                  {"maxCtasPerSM", card.blocks_of_processor},
                                  {"regsPerBlock", 65536},
                                  {"maxRegistersPerSM", 65536},
                                  {"maxSharedMemoryPerBlock", 49152},
                                  {"maxSharedMemoryPerBlockOptin", card.shared_bytes_of_block},
                                  {"reservedSharedMemoryPerBlock", 1024}};
  return properties.dump();
}

}  // namespace headroom::test
