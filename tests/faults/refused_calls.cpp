// Preload library (LD_PRELOAD). Counts a program's system calls from the start of main(), and makes the calls
// that the environment selects fail:
//
//   HEADROOM_REFUSED         kind:number:how, such as write:3:once
//   HEADROOM_REFUSED_IN      name of the program whose calls fail; unset: all programs
//   HEADROOM_REFUSED_COUNTS  output file: number of calls of each kind, written at exit
//   HEADROOM_REFUSED_WHERE   output file: stack of the first failed call
//
// `once` fails that call only, `on` fails it and all later ones. `short` reads or writes half of the bytes.
// `interrupted` fails with EINTR. Calls that the C library makes internally are not intercepted, apart from
// memory allocation.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstring>

namespace {

enum Kind {
  kMemory,
  kMap,
  kOpen,
  kRead,
  kWrite,
  kSize,
  kRename,
  kRemove,
  kLook,
  kClose,
  kThread,
  kSpawn,
  kWait,
  kKinds
};
constexpr const char* kNames[] = {"memory", "map",  "open",  "read",   "write", "size", "rename",
                                  "remove", "look", "close", "thread", "spawn", "wait"};

enum class How { once, on, cut_short, interrupted };

struct Order {
  Kind kind = kKinds;
  int64_t number = 0;
  How how = How::once;
};

Order order;
std::atomic<int64_t> counts[kKinds];
std::atomic<bool> counting{false};
const char* where_file = nullptr;
thread_local bool writing_where = false;

/// Writes the stack of the first failed call, as addresses relative to files.
void write_where() {
  if (where_file == nullptr || writing_where) return;
  writing_where = true;
  void* frames[64];
  const int count = backtrace(frames, 64);
  const auto file =
      static_cast<int>(syscall(SYS_openat, AT_FDCWD, where_file, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  backtrace_symbols_fd(frames, count, file);
  syscall(SYS_close, file);
  where_file = nullptr;
  writing_where = false;
}

/// Counts a call. Returns true if the call has to fail.
bool is_refused(Kind kind) noexcept {
  if (!counting.load(std::memory_order_relaxed) || writing_where) return false;
  const int64_t number = ++counts[kind];
  if (kind != order.kind) return false;
  const bool refused = order.how == How::on ? number >= order.number : number == order.number;
  if (refused) write_where();
  return refused;
}

/// Like is_refused(), but also sets errno: EINTR for `interrupted`, else `error`.
bool refuses(Kind kind, int error) noexcept {
  if (!is_refused(kind)) return false;
  errno = order.how == How::interrupted ? EINTR : error;
  return true;
}

/// Number of bytes to transfer; -1 with errno set if the call has to fail.
ssize_t bytes_of(Kind kind, int error, size_t bytes) noexcept {
  if (!is_refused(kind)) return static_cast<ssize_t>(bytes);
  if (order.how == How::cut_short) return static_cast<ssize_t>(bytes > 1 ? bytes / 2 : bytes);
  errno = order.how == How::interrupted ? EINTR : error;
  return -1;
}

template <typename Function>
Function* next(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// Parses an order such as "write:3:once".
Order read_order(const char* text) {
  Order found;
  if (text == nullptr) return found;
  const char* number = strchr(text, ':');
  if (number == nullptr) return found;
  for (int kind = 0; kind < kKinds; ++kind) {
    const size_t length = strlen(kNames[kind]);
    if (static_cast<size_t>(number - text) == length && strncmp(text, kNames[kind], length) == 0)
      found.kind = static_cast<Kind>(kind);
  }
  char* how = nullptr;
  found.number = strtoll(number + 1, &how, 10);
  if (strcmp(how, ":on") == 0) found.how = How::on;
  if (strcmp(how, ":short") == 0) found.how = How::cut_short;
  if (strcmp(how, ":interrupted") == 0) found.how = How::interrupted;
  return found;
}

__attribute__((destructor)) void write_counts() {
  const char* file = getenv("HEADROOM_REFUSED_COUNTS");
  if (!counting.exchange(false) || file == nullptr) return;
  const auto out = static_cast<int>(syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  for (int kind = 0; kind < kKinds; ++kind)
    dprintf(out, "%s %lld\n", kNames[kind], static_cast<long long>(counts[kind].load()));
  syscall(SYS_close, out);
}

int (*program_main)(int, char**, char**) = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  const char* name = getenv("HEADROOM_REFUSED_IN");
  order = read_order(getenv("HEADROOM_REFUSED"));
  where_file = getenv("HEADROOM_REFUSED_WHERE");
  void* loaded[1];
  if (where_file != nullptr) backtrace(loaded, 1);  // the first call of backtrace() loads the unwinder
  counting = name == nullptr || strcmp(name, program_invocation_short_name) == 0;
  return program_main(argc, argv, environment);
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*loader_fini)(), void* stack_end) {
  program_main = main;
  return next<decltype(__libc_start_main)>("__libc_start_main")(counted_main, argc, argv, init, fini,
                                                                loader_fini, stack_end);
}

void* malloc(size_t bytes) noexcept {
  return refuses(kMemory, ENOMEM) ? nullptr : __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) noexcept {
  return refuses(kMemory, ENOMEM) ? nullptr : __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) noexcept {
  return refuses(kMemory, ENOMEM) ? nullptr : __libc_realloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return refuses(kMemory, ENOMEM) ? nullptr : __libc_memalign(alignment, bytes);
}
void* memalign(size_t alignment, size_t bytes) noexcept {
  return refuses(kMemory, ENOMEM) ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) noexcept {
  if (is_refused(kMemory)) return ENOMEM;
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}

void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  if (refuses(kMap, ENOMEM)) return MAP_FAILED;
  return next<decltype(mmap)>("mmap")(address, bytes, protection, flags, file, offset);
}

// Uses the system call, because the mode argument is optional.
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = va_arg(rest, mode_t);
  va_end(rest);
  return refuses(kOpen, EMFILE) ? -1 : static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = va_arg(rest, mode_t);
  va_end(rest);
  return refuses(kOpen, EMFILE) ? -1 : static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}
FILE* fopen64(const char* path, const char* mode) {
  return refuses(kOpen, EMFILE) ? nullptr : next<decltype(fopen64)>("fopen64")(path, mode);
}
int mkostemp(char* pattern, int flags) {
  return refuses(kOpen, EMFILE) ? -1 : next<decltype(mkostemp)>("mkostemp")(pattern, flags);
}
DIR* fdopendir(int folder) {
  return refuses(kOpen, ENOMEM) ? nullptr : next<decltype(fdopendir)>("fdopendir")(folder);
}

ssize_t read(int file, void* memory, size_t bytes) {
  const ssize_t now = bytes_of(kRead, EIO, bytes);
  return now < 0 ? -1 : syscall(SYS_read, file, memory, now);
}
ssize_t pread(int file, void* memory, size_t bytes, off_t offset) {
  const ssize_t now = bytes_of(kRead, EIO, bytes);
  return now < 0 ? -1 : syscall(SYS_pread64, file, memory, now, offset);
}

ssize_t write(int file, const void* memory, size_t bytes) {
  const ssize_t now = bytes_of(kWrite, ENOSPC, bytes);
  return now < 0 ? -1 : syscall(SYS_write, file, memory, now);
}
ssize_t pwrite(int file, const void* memory, size_t bytes, off_t offset) {
  const ssize_t now = bytes_of(kWrite, ENOSPC, bytes);
  return now < 0 ? -1 : syscall(SYS_pwrite64, file, memory, now, offset);
}
ssize_t writev(int file, const iovec* parts, int count) {
  return refuses(kWrite, ENOSPC) ? -1 : syscall(SYS_writev, file, parts, count);
}

int ftruncate(int file, off_t bytes) noexcept {
  return refuses(kSize, EIO) ? -1 : static_cast<int>(syscall(SYS_ftruncate, file, bytes));
}
int fallocate(int file, int mode, off_t offset, off_t bytes) {
  return refuses(kSize, ENOSPC) ? -1 : static_cast<int>(syscall(SYS_fallocate, file, mode, offset, bytes));
}

int rename(const char* from, const char* to) noexcept {
  return refuses(kRename, EIO) ? -1 : static_cast<int>(syscall(SYS_rename, from, to));
}
int mkdir(const char* path, mode_t mode) noexcept {
  return refuses(kRename, ENOSPC) ? -1 : static_cast<int>(syscall(SYS_mkdir, path, mode));
}
char* mkdtemp(char* pattern) noexcept {
  return refuses(kRename, ENOSPC) ? nullptr : next<decltype(mkdtemp)>("mkdtemp")(pattern);
}

int unlink(const char* path) noexcept {
  return refuses(kRemove, EIO) ? -1 : static_cast<int>(syscall(SYS_unlink, path));
}
int unlinkat(int folder, const char* path, int flags) noexcept {
  return refuses(kRemove, EIO) ? -1 : static_cast<int>(syscall(SYS_unlinkat, folder, path, flags));
}
int remove(const char* path) noexcept {
  return refuses(kRemove, EIO) ? -1 : next<decltype(remove)>("remove")(path);
}

int stat(const char* path, struct stat* found) noexcept {
  return refuses(kLook, EIO) ? -1 : next<decltype(stat)>("stat")(path, found);
}
int lstat(const char* path, struct stat* found) noexcept {
  return refuses(kLook, EIO) ? -1 : next<decltype(lstat)>("lstat")(path, found);
}
int fstat(int file, struct stat* found) noexcept {
  return refuses(kLook, EIO) ? -1 : next<decltype(fstat)>("fstat")(file, found);
}
int statfs(const char* path, struct statfs* found) noexcept {
  return refuses(kLook, EIO) ? -1 : next<decltype(statfs)>("statfs")(path, found);
}
ssize_t readlink(const char* path, char* found, size_t bytes) noexcept {
  return refuses(kLook, EIO) ? -1 : next<decltype(readlink)>("readlink")(path, found, bytes);
}

int close(int file) {
  const bool refused = refuses(kClose, EIO);  // close() releases the descriptor even if it fails
  const int error = errno;
  const auto closed = static_cast<int>(syscall(SYS_close, file));
  if (!refused) return closed;
  errno = error;
  return -1;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*work)(void*),
                   void* context) noexcept {
  if (is_refused(kThread)) return EAGAIN;
  return next<decltype(pthread_create)>("pthread_create")(thread, how, work, context);
}

int posix_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* how, char* const* words, char* const* environment) {
  if (is_refused(kSpawn)) return EAGAIN;
  return next<decltype(posix_spawn)>("posix_spawn")(child, path, actions, how, words, environment);
}
pid_t waitpid(pid_t child, int* status, int options) {
  return refuses(kWait, ECHILD) ? -1 : next<decltype(waitpid)>("waitpid")(child, status, options);
}

}  // extern "C"
