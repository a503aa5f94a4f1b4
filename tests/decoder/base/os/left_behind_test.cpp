#include "decoder/base/os/left_behind.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::Scratch;

/// Ends a process of its own by SIGTERM once these are named, in this order.
void end_by_signal(const Scratch& scratch, const std::vector<std::string>& empty_folders,
                   const std::vector<std::string>& others) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    remove_files_on_signals();
    std::vector<std::unique_ptr<RemovedOnSignal>> named;
    for (const std::string& name : empty_folders)
      named.push_back(std::make_unique<RemovedOnSignal>(scratch / name, RemovedOnSignal::What::empty_folder));
    for (const std::string& name : others) named.push_back(std::make_unique<RemovedOnSignal>(scratch / name));
    raise(SIGTERM);
    _exit(1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM));
}

TEST_CASE("a signal removes what is named, and of folders those in which nothing lies") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch / "a/b/c");
  std::filesystem::create_directories(scratch / "kept");
  std::filesystem::create_directories(scratch / "partial/0");
  scratch.write("a/b/c/o.partial-1", "x");
  scratch.write("kept/picture", "x");
  scratch.write("partial/0/00000.png", "x");
  end_by_signal(scratch, {"a", "a/b", "a/b/c", "kept"}, {"a/b/c/o.partial-1", "partial"});
  CHECK(scratch.files() == std::vector<std::string>{"kept"});
  CHECK(test::read_bytes(scratch / "kept/picture") == "x");
}

/// A signal must find a whole list, whichever thread it interrupts.
TEST_CASE("a signal removes what is named while other threads name more and give names back") {
  for (int attempt = 0; attempt < 20; ++attempt) {
    const Scratch scratch;
    scratch.write("o.partial-1", "x");
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      remove_files_on_signals();
      const RemovedOnSignal named(scratch / "o.partial-1");
      for (int i = 0; i < 3; ++i) {
        std::thread([&scratch] {
          for (;;) {
            const RemovedOnSignal first(scratch / "a"), second(scratch / "b");
          }
        }).detach();
      }
      usleep(static_cast<useconds_t>(1000 + 300 * attempt));
      kill(getpid(), SIGTERM);
      for (;;) pause();
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM));
    CHECK(scratch.files().empty());
  }
}

TEST_CASE("an empty folder whose name is given back stays") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch / "a");
  { const RemovedOnSignal named(scratch / "a", RemovedOnSignal::What::empty_folder); }
  end_by_signal(scratch, {}, {});
  CHECK(scratch.files() == std::vector<std::string>{"a"});
}

TEST_CASE("only files that this program left behind on this machine are removed") {
  const Scratch scratch;
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  const std::string dead = process_mark(gone), number = std::to_string(gone);
  CHECK(dead.size() == 9 + number.size());
  CHECK(has_ended(gone));
  CHECK_FALSE(has_ended(getppid()));
  std::vector<std::string> kept{"o.partial-" + number,          "o.partial-" + number + ".txt",
                                "o.partial-" + dead + ".txt",   "o.partial-" + dead + ".npy",
                                "o.partial-00000000-" + number, "o.partial-0" + dead};
  for (const std::string& name : kept) scratch.write(name, "x");
  for (const char* const file : {"notes.txt", "0/notes.txt", "0/1/00000.png", "a.png"}) {
    const std::string folder = "folder" + std::to_string(kept.size());
    const std::filesystem::path partial = scratch / (folder + ".partial-" + dead);
    std::filesystem::create_directories((partial / file).parent_path());
    scratch.write(partial.filename().string() + "/" + file, "x");
    kept.push_back(partial.filename().string());
    remove_left_behind(scratch / folder, "partial");
  }
  if (geteuid() == 0) {
    scratch.write("theirs.partial-" + dead, "x");
    REQUIRE(chown((scratch / ("theirs.partial-" + dead)).c_str(), 65534, 65534) == 0);
    kept.push_back("theirs.partial-" + dead);
    remove_left_behind(scratch / "theirs", "partial");
  }
  scratch.write("o.partial-" + dead, "x");
  scratch.write("o.verify-" + dead + ".npy", "x");
  remove_left_behind(scratch / "o", "partial");
  remove_left_behind(scratch / "o", "verify", ".npy");
  std::sort(kept.begin(), kept.end());
  CHECK(scratch.files() == kept);
}

}  // namespace
}  // namespace headroom
