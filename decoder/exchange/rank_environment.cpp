#include "decoder/exchange/rank_environment.h"

#include <charconv>
#include <cstdlib>
#include <initializer_list>

#include "decoder/graph/errors.h"

namespace headroom {
namespace {

using Text = std::optional<std::string>;

int32_t number_in(const std::string& name, const std::string& text, int32_t lowest, int32_t highest) {
  int32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || read != end || value < lowest || value > highest)
    throw InputError("environment variable " + name + ": expected a number from " + std::to_string(lowest) +
                     " to " + std::to_string(highest) + ", got '" + text + "'");
  return value;
}

/// Names of a launcher's variables.
struct Names {
  const char* launcher;
  const char* rank;
  const char* ranks;
  const char* local_rank;
};

constexpr int32_t kMostRanks = 1 << 16;

/// Who this process is by one launcher's variables; nothing where it has set none of the first two.
std::optional<RankEnvironment> read_ranks(const VariableLookup& variable, const Names& names) {
  const Text rank = variable(names.rank);
  const Text ranks = variable(names.ranks);
  if (!rank && !ranks) return std::nullopt;
  if (!rank || !ranks) {
    const char* const missing = rank ? names.ranks : names.rank;
    const char* const present = rank ? names.rank : names.ranks;
    throw InputError(std::string("environment variable ") + missing + " is not set, but " + present + " is");
  }
  RankEnvironment found;
  found.launcher = names.launcher;
  found.ranks = number_in(names.ranks, *ranks, 1, kMostRanks);
  found.rank = number_in(names.rank, *rank, 0, kMostRanks);
  if (found.rank >= found.ranks)
    throw InputError(std::string("environment variable ") + names.rank + ": expected less than " +
                     names.ranks + ", " + *ranks + ", got " + *rank);
  const Text local = variable(names.local_rank);
  if (local) found.local_rank = number_in(names.local_rank, *local, 0, found.ranks - 1);
  return found;
}

/// "rack[2-3,7]n[01-16],other": rack2n01.
std::string first_host(const std::string& list) {
  std::string host;
  for (size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    if (list[at] != '[') {
      host += list[at];
      continue;
    }
    const size_t end = list.find_first_of(",-]", at);
    const size_t close = list.find(']', at);
    if (end == std::string::npos || close == std::string::npos) break;
    host.append(list, at + 1, end - at - 1);
    at = close;
  }
  return host;
}

/// The machine of rank 0 as Slurm tells it. Where srun was typed comes last: it need not run a task.
Text slurm_address(const VariableLookup& variable) {
  for (const char* name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"}) {
    const Text list = variable(name);
    if (list && !first_host(*list).empty()) return first_host(*list);
  }
  return variable("SLURM_LAUNCH_NODE_IPADDR");
}

/// Where all ranks of mpirun are on one machine, it is this one.
Text mpi_address(const VariableLookup& variable, const RankEnvironment& found) {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    const Text local = variable(name);
    if (local && number_in(name, *local, 1, kMostRanks) == found.ranks) return "127.0.0.1";
  }
  return std::nullopt;
}

void read_meeting_point(const VariableLookup& variable, RankEnvironment& found) {
  const Text port = variable("MASTER_PORT");
  const Text address = variable("MASTER_ADDR");
  if (port) found.port = number_in("MASTER_PORT", *port, 1, 65535);
  const bool torchrun = found.launcher == "torchrun";
  Text at = address;
  if (!at && found.launcher == "srun") at = slurm_address(variable);
  if (!at && !torchrun) at = mpi_address(variable, found);
  if (!at && found.ranks == 1) at = "127.0.0.1";
  if (!at || at->empty())
    throw InputError(
        "environment variable MASTER_ADDR is not set: expected the address of the machine of rank 0, as " +
        found.launcher + " started " + std::to_string(found.ranks) + " ranks");
  if (at->starts_with("file:")) {
    found.address = "127.0.0.1";
    found.store_file = at->substr(5);
    if (!found.store_file.starts_with('/'))
      throw InputError("environment variable MASTER_ADDR: expected file:/FOLDER/FILE, got '" + *at + "'");
    return;
  }
  if (torchrun && !port) throw InputError("environment variable MASTER_PORT is not set, but RANK is");
  found.address = *at;
}

/// Gloo of PyTorch 2.11 reads the certificates, and then sends everything as it is: a rank without any takes
/// part. Whoever set this believes otherwise.
void refuse_encryption(const VariableLookup& variable) {
  if (variable("GLOO_DEVICE_TRANSPORT") == "TCP_TLS")
    throw InputError(
        "environment variable GLOO_DEVICE_TRANSPORT: TCP_TLS encrypts nothing in PyTorch 2.11. Unset it, and "
        "use a network that you trust");
}

}  // namespace

std::optional<RankEnvironment> rank_environment(const VariableLookup& variable) {
  constexpr Names kLaunchers[] = {
      {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"},
      {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
      {"mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
      {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
  };
  for (const Names& names : kLaunchers) {
    const std::string launcher = names.launcher;
    // A job of one task has these too, and the shell of a job has the first without the second.
    if (launcher == "srun" && variable(names.ranks).value_or("1") == "1") continue;
    // srun --mpi=pmi2 sets the first two of mpiexec's as well, and no local rank.
    if (launcher == "mpiexec" && variable("SLURM_STEP_NUM_TASKS") && !variable(names.local_rank)) continue;
    std::optional<RankEnvironment> found = read_ranks(variable, names);
    if (!found) continue;
    read_meeting_point(variable, *found);
    refuse_encryption(variable);
    // As torch.distributed does for Python programs.
    found->store_is_there = variable("TORCHELASTIC_USE_AGENT_STORE") == "True";
    if (found->store_is_there)
      found->store_prefix = "/worker/attempt_" + variable("TORCHELASTIC_RESTART_COUNT").value_or("0");
    return found;
  }
  return std::nullopt;
}

std::optional<RankEnvironment> rank_environment() {
  return rank_environment([](const std::string& name) -> Text {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  });
}

std::string trust_note(const RankEnvironment& environment) {
  const std::string& file = environment.store_file;
  if (!file.empty())
    return "ranks meet in " + file + ": whoever reaches the ranks' ports can change or end the run";
  return "ranks meet at " + environment.address + ":" + std::to_string(environment.port) +
         ": whoever reaches this port and those of the ranks can join, change or end the run. Use a network "
         "that you trust";
}

}  // namespace headroom
