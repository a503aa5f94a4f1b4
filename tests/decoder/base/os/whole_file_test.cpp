#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "decoder/base/errors.h"
#include "decoder/base/os/partial_file.h"
#include "decoder/base/os/whole_file.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/no_descriptors.h"

namespace headroom {
namespace {

using std::filesystem::path;
using test::read_bytes;
using test::require_input_error;
using test::Scratch;

std::string received_from(const path& pipe) {
  const int descriptor = open(pipe.c_str(), O_RDONLY);
  std::string text;
  char piece[4096];
  for (ssize_t found = 0; (found = read(descriptor, piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<size_t>(found));
  close(descriptor);
  return text;
}

TEST_CASE("a file is written whole or not at all") {
  const Scratch scratch;
  write_file_whole(scratch / "a.json", "one");
  write_file_whole(scratch / "a.json", "two");
  CHECK(read_bytes(scratch / "a.json") == "two");
  CHECK(scratch.files() == std::vector<std::string>{"a.json"});
  require_input_error([&] { write_file_whole(scratch / "none/a.json", "x"); },
                      {"none/a.json", "expected an existing folder"});
  std::filesystem::create_directory(scratch / "folder");
  require_input_error([&] { write_file_whole(scratch / "folder", "x"); },
                      {"folder", "expected a file, found a folder"});
  CHECK(scratch.files() == std::vector<std::string>{"a.json", "folder"});
}

TEST_CASE("what throws halfway leaves what was there") {
  const Scratch scratch;
  write_file_whole(scratch / "a", "before");
  const auto broken = [](std::ostream& out) {
    out << std::string(200'000, 'x');
    throw InputError("broken");
  };
  CHECK_THROWS_AS(write_file_whole(scratch / "a", broken), InputError);
  CHECK(read_bytes(scratch / "a") == "before");
  CHECK(scratch.files() == std::vector<std::string>{"a"});
}

TEST_CASE("text of any size arrives whole") {
  const Scratch scratch;
  for (const size_t bytes :
       {size_t{0}, size_t{1}, size_t{65'535}, size_t{65'536}, size_t{65'537}, size_t{300'001}}) {
    std::string text(bytes, 'a');
    for (size_t i = 0; i < bytes; i += 7) text[i] = static_cast<char>('a' + i % 26);
    write_file_whole(scratch / "a", text);
    CHECK(read_bytes(scratch / "a") == text);
  }
}

TEST_CASE("a link stays one, and what it leads to is written") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "far");
  scratch.write("far/there", "before");
  std::filesystem::create_symlink("far/there", scratch / "link");
  std::filesystem::create_symlink("link", scratch / "link of a link");
  std::filesystem::create_symlink("far/new", scratch / "dangling");
  write_file_whole(scratch / "link of a link", "after");
  write_file_whole(scratch / "dangling", "new");
  for (const char* link : {"link", "link of a link", "dangling"})
    CHECK(std::filesystem::is_symlink(scratch / link));
  CHECK(read_bytes(scratch / "far/there") == "after");
  CHECK(read_bytes(scratch / "far/new") == "new");
}

TEST_CASE("what has taken a pipe's place meanwhile is not written") {
  const Scratch scratch;
  const path pipe = scratch / "pipe", victim = scratch.write("victim", "kept");
  for (const bool by_link : {true, false}) {
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    PartialFile file(pipe);
    file.write_at(0, "other", 5);
    std::filesystem::remove(pipe);
    if (by_link) {
      std::filesystem::create_symlink(victim, pipe);
    } else {
      std::filesystem::rename(victim, pipe);
    }
    CHECK_THROWS_AS(file.commit(), DeviceError);
    CHECK(read_bytes(pipe) == "kept");
    if (by_link) std::filesystem::remove(pipe);
  }
}

TEST_CASE("a named pipe gets all of it, and stays") {
  const Scratch scratch;
  const path pipe = scratch / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const std::string text(1'000'000, 'p');
  std::string received;
  std::thread reader([&] { received = received_from(pipe); });
  write_file_whole(pipe, text);
  reader.join();
  CHECK(received == text);
  CHECK(std::filesystem::is_fifo(pipe));
  CHECK(scratch.files() == std::vector<std::string>{"pipe"});
}

TEST_CASE("a pipe of which nothing came to be gets nothing") {
  const Scratch scratch;
  const path pipe = scratch / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const auto broken = [](std::ostream& out) {
    out << std::string(200'000, 'x');
    throw InputError("broken");
  };
  // Would wait for a reader if it were opened.
  CHECK_THROWS_AS(write_file_whole(pipe, broken), InputError);
}

TEST_CASE("devices of characters are written through") {
  write_file_whole("/dev/null", "gone");
  CHECK(std::filesystem::is_character_file("/dev/null"));
  if (access("/dev/full", W_OK) == 0) {
    CHECK_THROWS_AS(write_file_whole("/dev/full", "x"), DeviceError);
    CHECK(std::filesystem::is_character_file("/dev/full"));
  }
}

TEST_CASE("a descriptor that is open is written at its place") {
  const Scratch scratch;
  const int descriptor = open((scratch / "a").c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(descriptor >= 0);
  REQUIRE(write(descriptor, "begin ", 6) == 6);
  write_file_whole("/dev/fd/" + std::to_string(descriptor), "middle ");
  REQUIRE(write(descriptor, "end", 3) == 3);
  close(descriptor);
  CHECK(read_bytes(scratch / "a") == "begin middle end");
}

TEST_CASE("system files are read whole, whatever size they say they have") {
  const test::Scratch scratch;
  const std::string text(10000, 'x');
  CHECK(text_of_system_file(scratch.write("long", text)) == text);
  CHECK(text_of_system_file(scratch.write("empty", "")) == "");
  CHECK(text_of_system_file("/proc/self/status").value_or("").starts_with("Name:"));
  CHECK_FALSE(text_of_system_file(scratch / "none"));
  CHECK_FALSE(text_of_system_file(scratch.folder()));  // a folder
}

TEST_CASE("a system file that there is no descriptor for is not taken for none") {
  CHECK(test::throws_without_descriptors<DeviceError>([] { text_of_system_file("/proc/self/status"); }));
}

}  // namespace
}  // namespace headroom
