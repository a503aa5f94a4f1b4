#include "decoder/base/os/left_behind.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "decoder/base/fnv_hash.h"
#include "decoder/base/os/open_file.h"

namespace headroom {

namespace {

std::atomic_flag list_is_held;
RemovedOnSignal* newest = nullptr;  ///< guarded by HeldList

/// Holds the list of all registered files. This thread takes no signals meanwhile, so a handler never waits
/// for the thread that it interrupts.
class HeldList {
 public:
  HeldList() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &signals_before_);
    while (list_is_held.test_and_set()) {
    }
  }
  ~HeldList() {
    list_is_held.clear();
    pthread_sigmask(SIG_SETMASK, &signals_before_, nullptr);
  }
  HeldList(const HeldList&) = delete;
  HeldList& operator=(const HeldList&) = delete;

 private:
  sigset_t signals_before_;
};

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kFolderLevels = 2;

void remove_entries(int folder, int levels) noexcept;

/// Removes `name` from an open folder. It removes a folder's contents only while `levels` is above 0. It uses
/// system calls alone, so that signal handlers may call it.
void remove_in(int parent, const char* name, int levels) noexcept {
  if (unlinkat(parent, name, 0) == 0 || (errno != EISDIR && errno != EPERM) || levels == 0) return;
  if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
    return;  // an empty folder needs no descriptor, and none may be left
  const int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  // In a signal handler, other threads may still create files.
  for (int attempt = 0; attempt < 4; ++attempt) {
    remove_entries(folder, levels - 1);
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0) break;
  }
  close(folder);
}

/// Calls `act` with each name in an open folder, from the first one on. It allocates no memory, because
/// signal handlers call it. libstdc++'s directory_iterator would also end the program if an allocation
/// failed.
template <typename Act>
void for_each_name(int folder, const Act& act) {
  alignas(dirent64) char entries[4096];
  if (lseek(folder, 0, SEEK_SET) != 0) return;
  for (ssize_t bytes = 0; (bytes = getdents64(folder, entries, sizeof entries)) > 0;) {
    for (ssize_t at = 0; at < bytes;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      at += entry->d_reclen;
      if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) act(entry->d_name);
    }
  }
}

/// True for names that FrameFolderSink writes: "00000.png", "pixels" and, of folders, "0".
bool is_of_frames(std::string_view name) noexcept {
  if (name == "pixels") return true;
  if (name.ends_with(".png")) name.remove_suffix(4);
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

void remove_entries(int folder, int levels) noexcept {
  for_each_name(folder, [&](const char* name) {
    if (is_of_frames(name)) remove_in(folder, name, levels);
  });
}

}  // namespace

RemovedOnSignal::RemovedOnSignal(std::filesystem::path file, What what)
    : file_(std::move(file)), what_(what) {
  const HeldList held;
  older_ = newest;
  if (older_ != nullptr) older_->newer_ = this;
  newest = this;
}

RemovedOnSignal::~RemovedOnSignal() {
  const HeldList held;
  if (older_ != nullptr) older_->newer_ = newer_;
  (newer_ != nullptr ? newer_->older_ : newest) = older_;
}

void remove_named_files() noexcept {
  const HeldList held;
  for (const RemovedOnSignal* each = newest; each != nullptr; each = each->older_) {
    if (each->what_ == RemovedOnSignal::What::empty_folder) {
      rmdir(each->file_.c_str());
    } else {
      remove_with_contents(each->file_.c_str());
    }
  }
}

namespace {

extern "C" void remove_and_end(int signal_number) {
  const int before = errno;
  remove_named_files();
  raise(signal_number);  // SA_RESETHAND has restored the default, so this ends the program
  errno = before;
}

}  // namespace

void remove_files_on_signals() {
  for (const int number : kEnding) {
    struct sigaction present {};
    if (sigaction(number, nullptr, &present) == 0 && present.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = remove_and_end;
    action.sa_flags = SA_RESETHAND;
    sigaction(number, &action, nullptr);
  }
  signal(SIGXFSZ, SIG_IGN);
}

void remove_with_contents(const char* path) noexcept {
  remove_in(AT_FDCWD, path, kFolderLevels);
}

void remove_contents(int folder) noexcept {
  remove_entries(folder, kFolderLevels - 1);
}

namespace {

/// Eight hexadecimal digits.
std::string place_here() {
  char text[256] = {};
  std::string place = gethostname(text, sizeof text - 1) == 0 ? text : "";
  const ssize_t bytes = readlink("/proc/self/ns/pid", text, sizeof text);
  if (bytes > 0) place.append(text, static_cast<size_t>(bytes));
  std::snprintf(text, sizeof text, "%08x", static_cast<uint32_t>(fnv_hash(place)));
  return text;
}

/// True for a regular file or a folder of this user.
bool is_of_user(int parent, const char* name) noexcept {
  struct stat status {};
  return fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_uid == geteuid() &&
         (S_ISDIR(status.st_mode) || S_ISREG(status.st_mode));
}

}  // namespace

std::string process_mark(int process) {
  static const std::string place = place_here();
  return place + "-" + std::to_string(process);
}

std::string process_mark() {
  return process_mark(getpid());
}

bool has_ended(int process) noexcept {
  return kill(process, 0) != 0 && errno == ESRCH;
}

void remove_left_behind(const std::filesystem::path& file, const std::string& mark,
                        const std::string& suffix) noexcept try {
  const std::string start = file.filename().string() + "." + mark + "-";
  const std::filesystem::path parent = file.has_parent_path() ? file.parent_path() : ".";
  const size_t place = process_mark(0).size() - 1;  // "<place>-"
  const Descriptor folder(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.number() < 0) return;
  for_each_name(folder.number(), [&](const char* name) {
    const std::string_view whole = name;
    if (whole.size() <= start.size() + place || !whole.starts_with(start)) return;
    pid_t process = 0;
    std::from_chars(name + start.size() + place, name + whole.size(), process);
    const std::string own = process_mark(process), expected = start + own + suffix;
    if (process <= 0 || (whole != expected && whole != expected + ".partial-" + own)) return;
    const bool ended = process == getpid() || has_ended(process);
    if (ended && is_of_user(folder.number(), name)) remove_in(folder.number(), name, kFolderLevels);
  });
} catch (...) {
  // Out of memory: the leftovers stay until the next run.
}

}  // namespace headroom
