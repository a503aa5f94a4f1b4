#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

// Ranks as processes, as torchrun would start them.
namespace headroom::test {

/// A local TCP port with no listener.
inline int free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  socklen_t bytes = sizeof address;
  REQUIRE(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
  close(listener);
  return ntohs(address.sin_port);
}

/// A child process and its output.
class Spawned {
 public:
  Spawned(const std::vector<std::string>& words, const std::vector<std::string>& variables) {
    char name[] = "/tmp/headroom-rank-XXXXXX";
    const int file = mkstemp(name);
    REQUIRE(file >= 0);
    written_ = name;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, file, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, file, STDERR_FILENO);
    std::vector<char*> arguments, environment;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    for (char** variable = environ; *variable != nullptr; ++variable) environment.push_back(*variable);
    for (const std::string& variable : variables) environment.push_back(const_cast<char*>(variable.c_str()));
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
    const int error =
        posix_spawnp(&process_, arguments[0], &actions, nullptr, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    close(file);
    REQUIRE(error == 0);
  }
  ~Spawned() {
    if (!ended()) {
      kill(process_, SIGKILL);
      waitpid(process_, &status_, 0);
    }
    std::filesystem::remove(written_);
  }
  Spawned(const Spawned&) = delete;
  Spawned& operator=(const Spawned&) = delete;

  bool ended() {
    if (!ended_) ended_ = waitpid(process_, &status_, WNOHANG) == process_;
    return ended_;
  }
  /// Exit code, or minus the signal number if a signal ended the process.
  int code() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_); }
  std::string written() const {
    std::ostringstream text;
    text << std::ifstream(written_).rdbuf();
    return text.str();
  }
  void signal(int number) const { kill(process_, number); }

 private:
  pid_t process_ = 0;
  std::string written_;
  int status_ = 0;
  bool ended_ = false;
};

/// Environment variables that torchrun sets for one of several ranks on this machine.
inline std::vector<std::string> rank_variables(int rank, int ranks, int port,
                                               const std::string& address = "127.0.0.1") {
  return {"RANK=" + std::to_string(rank), "LOCAL_RANK=" + std::to_string(rank),
          "WORLD_SIZE=" + std::to_string(ranks), "MASTER_ADDR=" + address,
          "MASTER_PORT=" + std::to_string(port)};
}

class SpawnedRanks {
 public:
  /// Starts the ranks in `which`, or all `ranks` if it is empty.
  SpawnedRanks(const std::vector<std::string>& words, int ranks, std::vector<int> which = {}) {
    const int port = free_port();
    for (int rank = 0; which.empty() ? rank < ranks : rank < static_cast<int>(which.size()); ++rank)
      processes_.push_back(std::make_unique<Spawned>(
          words, rank_variables(which.empty() ? rank : which[static_cast<size_t>(rank)], ranks, port)));
  }
  SpawnedRanks() = default;
  void add(std::unique_ptr<Spawned> process) { processes_.push_back(std::move(process)); }
  Spawned& operator[](size_t at) { return *processes_[at]; }
  size_t size() const { return processes_.size(); }

  /// Waits for this process, for at most a minute.
  void await(size_t at) {
    for (int i = 0; i < 1200 && !processes_[at]->ended(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    INFO("process " << at << " wrote: " << processes_[at]->written());
    REQUIRE(processes_[at]->ended());
  }
  void await_all() {
    for (size_t at = 0; at < processes_.size(); ++at) await(at);
  }

 private:
  std::vector<std::unique_ptr<Spawned>> processes_;
};

}  // namespace headroom::test
