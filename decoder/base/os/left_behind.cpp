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
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <system_error>

#include "decoder/base/fnv_hash.h"
#include "decoder/base/os/descriptor.h"
#include "decoder/base/os/system_file.h"

namespace headroom {

/// Entry of a list that only grows, so that a signal handler can walk it at any time. Exchanging the name
/// for null takes ownership of it.
struct RemovedOnSignal::Entry {
  std::atomic<const char*> name{nullptr};
  Entry* next = nullptr;
};

namespace {

std::atomic<void*> first_entry{nullptr};

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

void remove_entries(int folder, int levels) noexcept {
  for_each_name(folder, [&](const char* name) { remove_in(folder, name, levels); });
}

/// True for a name that ends in a slash, by which RemovedOnSignal marks an empty folder.
bool is_empty_folder(const char* name) noexcept {
  return name[0] != 0 && name[std::strlen(name) - 1] == '/';
}

}  // namespace

RemovedOnSignal::RemovedOnSignal(const std::filesystem::path& file, What what)
    : name_(strdup((what == What::empty_folder ? file / "" : file).c_str())) {
  if (name_ == nullptr) throw std::bad_alloc();
  for (auto* entry = static_cast<Entry*>(first_entry.load()); entry != nullptr; entry = entry->next) {
    const char* none = nullptr;
    if (!entry->name.compare_exchange_strong(none, name_)) continue;
    entry_ = entry;
    return;
  }
  entry_ = new Entry;
  entry_->name = name_;
  void* head = first_entry.load();
  do {
    entry_->next = static_cast<Entry*>(head);
  } while (!first_entry.compare_exchange_weak(head, entry_));
}

RemovedOnSignal::~RemovedOnSignal() {
  const char* mine = name_;
  if (entry_->name.compare_exchange_strong(mine, nullptr)) std::free(const_cast<char*>(name_));
}

void remove_named_files() noexcept {
  using Entry = RemovedOnSignal::Entry;
  // A folder must be empty before it can go, and the list is unordered. So repeat until no folder can be
  // removed.
  for (bool empty_folders = false, again = true; again; empty_folders = true) {
    again = !empty_folders;
    for (auto* entry = static_cast<Entry*>(first_entry.load()); entry != nullptr; entry = entry->next) {
      const char* name = entry->name.exchange(nullptr);
      if (name == nullptr) continue;
      if (!is_empty_folder(name)) {
        remove_with_contents(name);
      } else if (empty_folders && rmdir(name) == 0) {
        again = true;
      } else {
        const char* none = nullptr;
        entry->name.compare_exchange_strong(none, name);
      }
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

/// Returns eight hexadecimal digits. Without /proc, they come from the host's name.
std::string place_here() {
  char text[256] = {};
  std::string place = text_of_system_file("/proc/sys/kernel/random/boot_id").value_or("");
  if (place.empty() && gethostname(text, sizeof text - 1) == 0) place = text;
  const ssize_t bytes = readlink("/proc/self/ns/pid", text, sizeof text);
  if (bytes > 0) place.append(text, static_cast<size_t>(bytes));
  std::snprintf(text, sizeof text, "%08x", static_cast<uint32_t>(fnv_hash(place)));
  return text;
}

bool is_frame_number(std::string_view name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

/// True if an open folder holds only what FrameFolderSink writes, all owned by this user.
bool holds_frames_alone(int folder, int levels) noexcept {
  bool alone = true;
  for_each_name(folder, [&](const char* name) {
    struct stat status {};
    alone = alone && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_uid == geteuid();
    if (!alone) return;
    std::string_view stem = name;
    if (S_ISREG(status.st_mode)) {
      const bool png = stem.ends_with(".png");
      if (png) stem.remove_suffix(4);
      alone = stem == "pixels" || (png && is_frame_number(stem));
      return;
    }
    alone = S_ISDIR(status.st_mode) && is_frame_number(stem) && levels > 1;
    if (!alone) return;
    const Descriptor inner(openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    alone = inner.number() >= 0 && holds_frames_alone(inner.number(), levels - 1);
  });
  return alone;
}

/// True for a regular file of this user, and for a folder of this user's frames.
bool is_left_by_user(int parent, const char* name) noexcept {
  struct stat status {};
  if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || status.st_uid != geteuid()) return false;
  if (!S_ISDIR(status.st_mode)) return S_ISREG(status.st_mode);
  const Descriptor folder(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return folder.number() >= 0 && holds_frames_alone(folder.number(), kFolderLevels);
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
    if (ended && is_left_by_user(folder.number(), name)) remove_in(folder.number(), name, kFolderLevels);
  });
} catch (...) {
  // Out of memory: the leftovers stay until the next run.
}

}  // namespace headroom
