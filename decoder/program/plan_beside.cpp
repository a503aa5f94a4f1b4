#include "decoder/program/plan_beside.h"

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
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "decoder/cli/run_guard.h"
#include "decoder/graph/errors.h"
#include "decoder/graph/json_fields.h"
#include "decoder/graph/system_failure.h"
#include "decoder/loading/load_module.h"
#include "decoder/outputs/left_behind.h"

extern char** environ;

namespace headroom {
namespace {

constexpr int64_t kMostPlanBytes = int64_t{256} << 20;

/// A private folder for the plan and the messages, removed at the end: by then there may be no memory for
/// names, and no descriptor to look into it with.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_((std::filesystem::temp_directory_path() / "headroom-XXXXXX").string()),
        plan_(path_ + "/plan.json"),
        messages_(path_ + "/messages") {
    if (mkdtemp(path_.data()) == nullptr) throw DeviceError(path_ + ": cannot be made");
    for (std::string* file : {&plan_, &messages_}) std::copy(path_.begin(), path_.end(), file->begin());
    try {
      on_signal_.emplace(path_);
    } catch (...) {
      remove();
      throw;
    }
  }
  ~ScratchFolder() { remove(); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& plan() const { return plan_; }
  const std::string& messages() const { return messages_; }

 private:
  void remove() const noexcept {
    for (const std::string* file : {&plan_, &messages_}) unlink(file->c_str());
    remove_with_contents(path_.c_str());
  }

  std::string path_, plan_, messages_;
  std::optional<RemovedOnSignal> on_signal_;
};

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
    if (failed != 0) fail_by_errno("headroom-plan cannot be started", failed);
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

std::string without_prefix(const std::string& message) {
  const std::string prefix = "headroom-plan: ";
  return message.rfind(prefix, 0) == 0 ? message.substr(prefix.size()) : message;
}

}  // namespace

nlohmann::json plan_from_program_beside(const std::vector<std::string>& arguments, DeviceKind device) {
  const std::string program = program_folder() / "headroom-plan";
  const ScratchFolder scratch;

  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.end(), {"--device", name_of(device), "-o", scratch.plan()});
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const ChildStreams streams(scratch.messages());
  const ChildrenAreReported reported;
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), streams.get(), nullptr, argv.data(), environ);
  if (failed != 0)
    throw DeviceError(program + ": cannot be run; --limit needs headroom-plan beside headroom-decode");
  const int status = status_of(child, program);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kDeviceFailure;
  if (code == kDone) return read_json_file(scratch.plan(), kMostPlanBytes);

  std::ifstream in(scratch.messages());
  std::string message;
  std::getline(in, message);
  message = without_prefix(message);
  if (code == kBadInput) throw InputError(message);
  if (code == kDoesNotFit) throw DoesNotFit(message, 0);
  throw DeviceError("headroom-plan failed: " + message);
}

}  // namespace headroom
