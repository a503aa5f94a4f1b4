#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "decoder/exchange/exchange.h"
#include "decoder/exchange/rank_environment.h"

namespace headroom {

/// The c10d backend: gloo moves host memory, nccl moves memory of NVIDIA GPUs.
enum class ExchangeKind { gloo, nccl };

struct ExchangeOptions {
  RankEnvironment ranks;
  ExchangeKind kind = ExchangeKind::gloo;
  /// Longest time that an awaited rank may show no sign of work, and that the rendezvous may take.
  double timeout_seconds = 30;
  /// Network interface whose address this rank publishes, such as "eth0". Empty: the interface that routes to
  /// rank 0's machine.
  std::string interface;
  /// Called several times a second during the rendezvous. An exception from it ends the rendezvous with an
  /// ExchangeError.
  std::function<void()> check_while_meeting = [] {};
};

/// Loads the module that open_exchange() needs. Throws DeviceError if it is missing.
void load_exchange(ExchangeKind kind);

/// Connects to the other ranks. Returns when all are connected. c10d comes with LibTorch, in a module next
/// to the program that is loaded only here. With ExchangeKind::nccl, device spans lie in the memory of this
/// rank's GPU. Throws ExchangeError if ranks are missing or have another version, DeviceError if the module
/// is missing.
std::unique_ptr<Exchange> open_exchange(const ExchangeOptions& options);

/// Like the overload above, but loads the first of `modules` that exists.
std::unique_ptr<Exchange> open_exchange(const ExchangeOptions& options,
                                        const std::vector<std::filesystem::path>& modules);

/// Entry function of the modules. On failure it returns null and writes the reason to `error`.
using OpenExchange = Exchange* (*)(const char* version, const ExchangeOptions* options, char* error,
                                   size_t error_bytes);
constexpr const char* kOpenExchange = "headroom_open_exchange";

}  // namespace headroom
