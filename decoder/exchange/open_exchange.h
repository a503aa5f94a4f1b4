#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decoder/exchange/exchange.h"

namespace headroom {

/// Rank of this process and the address of the rendezvous, as a launcher sets them in environment variables.
struct RankEnvironment {
  int32_t rank = 0;
  int32_t ranks = 1;
  int32_t local_rank = 0;  ///< index among the ranks of this machine; selects the GPU
  std::string address;     ///< host of the rendezvous: rank 0's machine
  int32_t port = 0;        ///< port of the rendezvous
  std::string store_file;  ///< file for a rendezvous on one machine without a port; else empty
  /// True if torchrun already keeps a store at that address. It serves all attempts to run the ranks. If
  /// false, rank 0 opens a store.
  bool store_is_there = false;
  /// Prefix of every key that ranks write to that store. It keeps them from reading keys of an earlier
  /// attempt.
  std::string store_prefix;
};

/// Returns the value of an environment variable, or nullopt if it is not set.
using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// Reads torchrun's variables: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, TORCHELASTIC_…
/// Another launcher has to set the first five. MASTER_ADDR may be file:PATH. Returns nullopt if no launcher
/// started this process. Throws InputError naming the variable that is missing, is not a number, contradicts
/// another, or asks for encryption, which Gloo does not support.
std::optional<RankEnvironment> rank_environment(const VariableLookup& variable);

/// Reads the variables of this process.
std::optional<RankEnvironment> rank_environment();

/// One line for standard error: the place of the rendezvous, and who could interfere with the run. Rank 0
/// prints it before it opens a port. Other ranks open ports only after they have reached rank 0.
std::string trust_note(const RankEnvironment& environment);

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
