#include "decoder/outputs/left_behind.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <memory>
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
  for (const bool outer_first : {true, false}) {
    CAPTURE(outer_first);
    std::filesystem::create_directories(scratch / "a/b/c");
    std::filesystem::create_directories(scratch / "kept");
    std::filesystem::create_directories(scratch / "partial/0");
    scratch.write("a/b/c/o.partial-1", "x");
    scratch.write("kept/picture", "x");
    scratch.write("partial/0/picture", "x");
    std::vector<std::string> folders{"a", "a/b", "a/b/c", "kept"};
    if (!outer_first) std::reverse(folders.begin(), folders.end());
    end_by_signal(scratch, folders, {"a/b/c/o.partial-1", "partial"});
    CHECK(scratch.files() == std::vector<std::string>{"kept"});
    CHECK(test::read_bytes(scratch / "kept/picture") == "x");
  }
}

TEST_CASE("an empty folder whose name is given back stays") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch / "a");
  { const RemovedOnSignal named(scratch / "a", RemovedOnSignal::What::empty_folder); }
  end_by_signal(scratch, {}, {});
  CHECK(scratch.files() == std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace headroom
