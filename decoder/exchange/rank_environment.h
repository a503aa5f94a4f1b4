#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace headroom {

/// Which of several processes this one is, and where they meet: what a launcher says in environment
/// variables.
struct RankEnvironment {
  std::string launcher;  ///< torchrun, srun, mpirun or mpiexec
  int32_t rank = 0;
  int32_t ranks = 1;
  int32_t local_rank = 0;  ///< among those of this machine: which GPU it takes
  std::string address;     ///< of rank 0's machine, where ranks meet
  int32_t port = 29500;    ///< there; c10d's default where nobody says otherwise
  std::string store_file;  ///< where ranks of one machine meet in place of a port; else empty
  /// torchrun keeps a store of its own at that address, for all attempts to run the ranks. Else rank 0 opens
  /// one.
  bool store_is_there = false;
  /// Of everything that ranks write to that store: those of an earlier attempt must not be read.
  std::string store_prefix;
};

/// The value of a variable, or nothing where it is not set.
using VariableLookup = std::function<std::optional<std::string>(const std::string& name)>;

/// What these variables say, of the first launcher that set any:
///
///     torchrun         RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, TORCHELASTIC_…
///     mpirun, mpiexec  OMPI_COMM_WORLD_RANK, …_SIZE, …_LOCAL_RANK; PMI_RANK, PMI_SIZE, MPI_LOCALRANKID
///     srun             SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID, the first of SLURM_STEP_NODELIST
///
/// In this order, since a launcher may itself have been started by one further below, for each machine.
/// MASTER_ADDR and MASTER_PORT, where set, hold for all of them; MASTER_ADDR may be file:PATH. Whoever sets
/// torchrun's variables counts as it. Nothing where nobody started ranks, as in a job of Slurm with one task.
/// Throws InputError naming the variable where one is missing, is no number or contradicts another, or asks
/// for encryption, which Gloo has not.
std::optional<RankEnvironment> rank_environment(const VariableLookup& variable);

/// The same of this process.
std::optional<RankEnvironment> rank_environment();

/// One line for standard error: the place where ranks meet, and whom they trust. Rank 0 prints it before it
/// opens a port; the others open none before they have met rank 0.
std::string trust_note(const RankEnvironment& environment);

}  // namespace headroom
