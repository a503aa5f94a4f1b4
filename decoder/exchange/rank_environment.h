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
  int32_t local_rank = 0;  ///< among those of this machine: which GPU it takes
  std::string address;     ///< of rank 0's machine, where ranks meet
  int32_t port = 0;        ///< there
  std::string store_file;  ///< where ranks of one machine meet in place of a port; else empty
  /// True if torchrun already keeps a store at that address. It serves all attempts to run the ranks. If
  /// false, rank 0 opens a store.
  bool store_is_there = false;
  /// Prefix of every key that ranks write to that store. It keeps them from reading keys of an earlier
  /// attempt.
  std::string store_prefix;
};

/// The value of a variable, or nothing where it is not set.
using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// Reads torchrun's variables: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, TORCHELASTIC_…
/// Another launcher has to set the first five. MASTER_ADDR may be file:PATH. Returns nullopt if no launcher
/// started this process. Throws InputError naming the variable that is missing, is not a number, contradicts
/// another, or asks for encryption, which Gloo does not support.
std::optional<RankEnvironment> rank_environment(const VariableLookup& variable);

/// Reads the variables of this process.
std::optional<RankEnvironment> rank_environment();

/// One line for standard error: the place where ranks meet, and whom they trust. Rank 0 prints it before it
/// opens a port; the others open none before they have met rank 0.
std::string trust_note(const RankEnvironment& environment);

}  // namespace headroom
