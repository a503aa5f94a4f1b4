#include "decoder/program/child_program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "decoder/cli/run_guard.h"
#include "decoder/graph/errors.h"
#include "decoder/graph/system_failure.h"
#include "decoder/loading/load_module.h"
#include "decoder/outputs/unnamed_file.h"

extern char** environ;

namespace headroom {

PrivateFolder::PrivateFolder(const std::vector<std::string>& names)
    : path_((folder_for_temporary_files() / "headroom-XXXXXX").string()) {
  for (const std::string& name : names) files_.push_back(path_ + "/" + name);
  if (mkdtemp(path_.data()) == nullptr) throw DeviceError(path_ + ": cannot be made");
  for (std::string& file : files_) std::copy(path_.begin(), path_.end(), file.begin());
  try {
    on_signal_.emplace(path_);
  } catch (...) {
    remove();
    throw;
  }
}

PrivateFolder::~PrivateFolder() {
  remove();
}

void PrivateFolder::remove() const noexcept {
  for (const std::string& file : files_) unlink(file.c_str());
  remove_with_contents(path_.c_str());
}

namespace {

/// While it lives, the system keeps how a child ended until it is asked: whoever started this program may
/// have told it not to, which is inherited.
class ChildrenAreReported {
 public:
  ChildrenAreReported() {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &action, &before_);
  }
  ~ChildrenAreReported() { sigaction(SIGCHLD, &before_, nullptr); }
  ChildrenAreReported(const ChildrenAreReported&) = delete;
  ChildrenAreReported& operator=(const ChildrenAreReported&) = delete;

 private:
  struct sigaction before_ {};
};

/// Where a child's standard output and errors go: nowhere, and to a file.
class ChildStreams {
 public:
  explicit ChildStreams(const std::string& errors_file) {
    require(posix_spawn_file_actions_init(&actions_));
    // What it prints would else be printed among our own, into a picture perhaps.
    require(posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0));
    require(posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, errors_file.c_str(),
                                             O_WRONLY | O_CREAT | O_TRUNC, 0600));
  }
  ~ChildStreams() { posix_spawn_file_actions_destroy(&actions_); }
  ChildStreams(const ChildStreams&) = delete;
  ChildStreams& operator=(const ChildStreams&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  static void require(int failed) {
    if (failed != 0) fail_by_errno("another program cannot be started", failed);
  }
  posix_spawn_file_actions_t actions_;
};

/// Waits for the end of a child. One that cannot be waited for is ended: it would write to a folder that
/// goes.
int status_of(pid_t child, const std::string& program) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno == EINTR) continue;
    const int reason = errno;
    kill(child, SIGKILL);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
    throw DeviceError(program + ": does not say how it ended: " + strerror(reason));
  }
  return status;
}

std::string first_line(const std::string& file, const std::string& without) {
  std::ifstream in(file);
  std::string message;
  std::getline(in, message);
  return message.rfind(without, 0) == 0 ? message.substr(without.size()) : message;
}

}  // namespace

ChildEnd run_program_beside(const std::string& name, const std::vector<std::string>& arguments,
                            const std::string& errors_file, const std::string& what_for) {
  const std::string program = program_folder() / name;
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const ChildStreams streams(errors_file);
  const ChildrenAreReported reported;
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), streams.get(), nullptr, argv.data(), environ);
  if (failed != 0) throw DeviceError(program + ": cannot be run; " + what_for);
  const int status = status_of(child, program);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kDeviceFailure;
  return {code, code == kDone ? "" : first_line(errors_file, name + ": ")};
}

}  // namespace headroom
