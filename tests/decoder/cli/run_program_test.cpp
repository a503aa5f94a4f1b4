#include "decoder/cli/run_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "decoder/base/os/left_behind.h"
#include "decoder/cli/prepare_outputs.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::Scratch;

struct Status {
  int code = -1;  ///< -1: by a signal
  int signal = 0;
  std::string said;
};

/// The forked process of a test: the folder that its program writes in, and how it ends.
const Scratch* written_in = nullptr;
void (*ends)() = nullptr;

/// A partial output. Its owner removes the file, and a signal does too.
struct Partial {
  Partial() { written_in->write("out/o.partial-1", "x"); }
  ~Partial() { std::filesystem::remove(*written_in / "out/o.partial-1"); }
  RemovedOnSignal on_signal{*written_in / "out/o.partial-1"};
};

int write_and_end(const std::vector<std::string>&, std::ostream&, std::ostream&) {
  MadeFolders folders;
  folders.make(*written_in / "out/below");
  const Partial partial;
  ends();
  return 0;
}

/// Runs the program in a process of its own, whose outputs are files.
Status run_apart(const Scratch& scratch, void (*end)()) {
  written_in = &scratch;
  ends = end;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);
    const int said = open((scratch / "said").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(said, STDOUT_FILENO);
    dup2(said, STDERR_FILENO);
    char name[] = "program";
    char* words[] = {name, nullptr};
    _exit(run_program(1, words, write_and_end));
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  Status ended;
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  ended.said = test::read_bytes(scratch / "said");
  std::filesystem::remove(scratch / "said");
  return ended;
}

[[noreturn]] void run_out_of_memory() {
  throw std::bad_alloc();
}

[[noreturn]] void fail() {
  throw std::logic_error("a fault");
}

TEST_CASE("a program that returns says its own code") {
  const Scratch scratch;
  const Status ended = run_apart(scratch, [] {});
  CHECK(ended.code == 0);
  CHECK(ended.said.empty());
  CHECK(scratch.files().empty());
}

TEST_CASE("no memory where nothing may be thrown is 5 with one line, and nothing is left") {
  const Scratch scratch;
  const Status ended = run_apart(scratch, []() noexcept { run_out_of_memory(); });
  CHECK(ended.code == 5);
  CHECK_THAT(ended.said, Catch::EndsWith(": out of memory\n"));
  CHECK(std::count(ended.said.begin(), ended.said.end(), '\n') == 1);
  CHECK(scratch.files().empty());
}

TEST_CASE("no memory that nobody catches is the same") {
  const Scratch scratch;
  const Status ended = run_apart(scratch, [] { run_out_of_memory(); });
  CHECK(ended.code == 5);
  CHECK_THAT(ended.said, Catch::EndsWith(": out of memory\n"));
  CHECK(scratch.files().empty());
}

TEST_CASE("what is wrong in the program itself still aborts, and nothing is left") {
  const Scratch scratch;
  const Status ended = run_apart(scratch, []() noexcept { fail(); });
  CHECK(ended.signal == SIGABRT);
  CHECK_THAT(ended.said, Catch::Contains("a fault"));
  CHECK(scratch.files().empty());
}

TEST_CASE("a library that ends the process ends it with 5, and nothing is left") {
  const Scratch scratch;
  CHECK(run_apart(scratch, [] { std::exit(1); }).code == 5);
  CHECK(scratch.files().empty());
}

TEST_CASE("a signal leaves no folder that was made for outputs") {
  const Scratch scratch;
  CHECK(run_apart(scratch, [] { raise(SIGTERM); }).signal == SIGTERM);
  CHECK(scratch.files().empty());
}

}  // namespace
}  // namespace headroom
