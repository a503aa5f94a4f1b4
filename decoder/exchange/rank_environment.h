#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

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

}  // namespace headroom
