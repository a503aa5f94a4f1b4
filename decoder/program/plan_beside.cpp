#include "decoder/program/plan_beside.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

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
#include "decoder/loading/load_module.h"
#include "decoder/outputs/left_behind.h"

extern char** environ;

namespace headroom {
namespace {

constexpr int64_t kMostPlanBytes = int64_t{256} << 20;
constexpr const char* kPlanFile = "plan.json";
constexpr const char* kMessagesFile = "messages";

/// A private folder for the plan and the messages, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "headroom-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw DeviceError(pattern + ": cannot be made");
    path_ = pattern;
    on_signal_.emplace(path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    // Looking what is in a folder takes a descriptor, which there may be none of.
    for (const char* file : {kPlanFile, kMessagesFile}) unlink((path_ / file).c_str());
    if (!std::filesystem::remove(path_, ignored)) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path operator/(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
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
  const std::string plan_file = scratch / kPlanFile;
  const std::string messages_file = scratch / kMessagesFile;

  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  words.insert(words.end(), {"--device", name_of(device), "-o", plan_file});
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages_file.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const ChildrenAreReported reported;
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    throw DeviceError(program + ": cannot be run; --limit needs headroom-plan beside headroom-decode");
  const int status = status_of(child, program);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kDeviceFailure;
  if (code == kDone) return read_json_file(plan_file, kMostPlanBytes);

  std::ifstream in(messages_file);
  std::string message;
  std::getline(in, message);
  message = without_prefix(message);
  if (code == kBadInput) throw InputError(message);
  if (code == kDoesNotFit) throw DoesNotFit(message, 0);
  throw DeviceError("headroom-plan failed: " + message);
}

}  // namespace headroom
