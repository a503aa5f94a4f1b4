#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "decoder/exchange/exchange.h"
#include "decoder/exchange/rank_environment.h"

namespace headroom {

/// What carries bytes: c10d's backends for memory of the CPU and of GPUs of NVIDIA.
enum class ExchangeKind { gloo, nccl };

struct ExchangeOptions {
  RankEnvironment ranks;
  ExchangeKind kind = ExchangeKind::gloo;
  /// So long may a rank that others wait for show no sign of work, and may ranks take to come together.
  double timeout_seconds = 30;
  /// The network interface whose address others are told, e.g. "eth0". Empty: the one that leads to rank 0's
  /// machine.
  std::string interface;
  /// Called several times a second while ranks come together. What it throws ends that, as an ExchangeError.
  std::function<void()> check_while_meeting = [] {};
};

/// Loads what open_exchange() needs and opens nothing. Throws DeviceError where the module is missing.
void load_exchange(ExchangeKind kind);

/// Meets the other ranks and returns when all are there. c10d is in a module of its own beside the program,
/// with LibTorch, and is loaded only here. With ExchangeKind::nccl spans are of this rank's GPU. Throws
/// ExchangeError where ranks do not come or have another version, DeviceError where the module is missing.
std::unique_ptr<Exchange> open_exchange(const ExchangeOptions& options);

/// The same by the first of these files that exists.
std::unique_ptr<Exchange> open_exchange(const ExchangeOptions& options,
                                        const std::vector<std::filesystem::path>& modules);

/// The modules' entry: null where it failed, and why in `error`.
using OpenExchange = Exchange* (*)(const char* version, const ExchangeOptions* options, char* error,
                                   size_t error_bytes);
constexpr const char* kOpenExchange = "headroom_open_exchange";

}  // namespace headroom
