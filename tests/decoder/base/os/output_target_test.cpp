#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "decoder/base/os/output_target.h"
#include "decoder/base/os/partial_file.h"
#include "decoder/base/os/whole_file.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using std::filesystem::path;
using test::require_input_error;
using test::Scratch;

TEST_CASE("names lead to files, streams or refusals") {
  const Scratch scratch;
  scratch.write("file", "x");
  std::filesystem::create_directory(scratch / "folder");
  REQUIRE(mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_symlink("file", scratch / "to file");
  std::filesystem::create_symlink("pipe", scratch / "to pipe");
  std::filesystem::create_symlink("nothing", scratch / "to nothing");
  std::filesystem::create_symlink("to itself", scratch / "to itself");

  CHECK(output_target(scratch / "new").path == scratch / "new");
  CHECK(output_target(scratch / "to file").path == scratch / "file");
  CHECK(output_target(scratch / "to nothing").path == scratch / "nothing");
  for (const char* file : {"new", "file", "to file", "to nothing"}) {
    CHECK_FALSE(output_target(scratch / file).is_stream);
    CHECK_FALSE(is_stream(scratch / file));
  }
  for (const path& stream :
       {scratch / "pipe", scratch / "to pipe", path("/dev/null"), path("-"), path("/dev/stderr")}) {
    CAPTURE(stream);
    CHECK(is_stream(stream));
  }
  CHECK(is_standard_output("-"));
  CHECK(is_standard_output("/dev/stdout"));
  CHECK(is_standard_output("/proc/self/fd/1"));
  CHECK_FALSE(is_standard_output("/dev/stderr"));
  CHECK_FALSE(is_standard_output("./-"));
  require_input_error([&] { output_target(scratch / "folder"); },
                      {"folder: expected a file, found a folder"});
  require_input_error([&] { output_target(scratch / "to itself"); }, {"to itself", "circle"});
  CHECK_FALSE(is_stream(scratch / "folder"));
  CHECK_FALSE(is_stream(""));
}

TEST_CASE("another user's link in a sticky folder that all may write to is refused") {
  if (geteuid() != 0) return;  // makes a link of another user
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "sticky");
  scratch.write("victim", "x");
  for (const char* name : {"sticky/theirs", "sticky/to nothing", "theirs", "sticky/mine"})
    std::filesystem::create_symlink(scratch / "victim", scratch / name);
  std::filesystem::create_symlink("theirs", scratch / "sticky/mine to theirs");
  for (const char* name : {"sticky/theirs", "sticky/to nothing", "theirs"})
    REQUIRE(lchown((scratch / name).c_str(), 65534, 65534) == 0);
  REQUIRE(chmod((scratch / "sticky").c_str(), 01777) == 0);
  for (const char* name : {"sticky/theirs", "sticky/to nothing", "sticky/mine to theirs"}) {
    require_input_error([&] { output_target(scratch / name); }, {name, "another user's link"});
  }
  for (const char* name : {"theirs", "sticky/mine"})
    CHECK(output_target(scratch / name).path == scratch / "victim");
  REQUIRE(chown((scratch / "sticky").c_str(), 65534, 65534) == 0);
  CHECK_NOTHROW(output_target(scratch / "sticky/theirs"));  // the folder's owner made it
}

TEST_CASE("another user's link to a folder is refused on the way to an output") {
  if (geteuid() != 0) return;  // makes a link of another user
  const Scratch scratch;
  for (const char* folder : {"sticky", "victim", "victim/inner"})
    std::filesystem::create_directory(scratch / folder);
  for (const char* name : {"sticky/theirs", "sticky/mine", "theirs"})
    std::filesystem::create_symlink(scratch / "victim", scratch / name);
  std::filesystem::create_symlink("sticky/theirs/inner", scratch / "leads there");
  for (const char* name : {"sticky/theirs", "theirs"})
    REQUIRE(lchown((scratch / name).c_str(), 65534, 65534) == 0);
  REQUIRE(chmod((scratch / "sticky").c_str(), 01777) == 0);
  scratch.write("victim/there", "x");
  std::filesystem::create_symlink("sticky/theirs/there", scratch / "file");
  for (const char* name : {"sticky/theirs/there", "sticky/theirs/new", "sticky/theirs/inner/new",
                           "sticky/../sticky/theirs/new", "leads there/new", "file"}) {
    require_input_error([&] { output_target(scratch / name); }, {name, "sticky/theirs, another user's link"});
  }
  for (const char* name : {"theirs/there", "sticky/mine/new"}) CHECK_NOTHROW(output_target(scratch / name));
}

TEST_CASE("a socket is no output") {
  const Scratch scratch;
  const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (scratch / "socket").c_str(), sizeof address.sun_path - 1);
  REQUIRE(bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  require_input_error([&] { output_target(scratch / "socket"); }, {"expected a file, found a socket"});
  close(descriptor);
}

TEST_CASE("names that are too long are refused, with what is asked for and what was found") {
  const Scratch scratch;
  CHECK_NOTHROW(output_target(scratch / std::string(230, 'a')));
  require_input_error([&] { output_target(scratch / std::string(231, 'a')); },
                      {"at most 230 bytes, found 231"});
  require_input_error([&] { output_target(scratch / std::string(300, 'a')); },
                      {"at most 230 bytes, found 300"});
  std::string deep = scratch.folder().string();
  while (deep.size() < 5000) deep += "/folder";
  require_input_error([&] { output_target(deep + "/a"); }, {"the path is too long"});
}

using test::require_input_error;
using test::Scratch;

/// A folder for outputs with links in it, and a precious file outside.
struct Folders {
  Scratch scratch;
  std::filesystem::path in = scratch / "in";

  Folders() {
    std::filesystem::create_directories(in / "a/b");
    std::filesystem::create_directory(scratch / "out");
    scratch.write("out/precious.png", "x");
    std::filesystem::create_symlink(scratch / "out", in / "absolute");
    std::filesystem::create_symlink("../out", in / "relative");
    std::filesystem::create_symlink("../out/precious.png", in / "link.png");
    std::filesystem::create_symlink("../out/new.png", in / "dangling.png");
    std::filesystem::create_symlink("a/b", in / "short");
    std::filesystem::create_symlink("a/b/there.png", in / "there.png");
    std::filesystem::create_symlink("round", in / "round");
  }
};

TEST_CASE("links that lead out of the folder of an output are refused") {
  const Folders folders;
  for (const char* name : {"absolute/precious.png", "relative/precious.png", "link.png", "dangling.png",
                           "relative/new/folder/x.png", "round", "a/../../out/precious.png"}) {
    CAPTURE(name);
    require_input_error([&] { require_inside(folders.in, name); },
                        {name, "expected a name inside", "found a link that leads out of it"});
  }
  for (const char* name : {"relative/precious.png", "link.png"})
    require_input_error([&] { InsideFolder(folders.in, name); }, {"leads out of it"});
  for (const char* name : {"x.png", "short/x.png", "there.png", "new/folder/x.png", "frames/"})
    CHECK_NOTHROW(require_inside(folders.in, name));
}

TEST_CASE("links inside the folder of an output lead on") {
  const Folders folders;
  write_file_whole(InsideFolder(folders.in, "short/x.png").path(), "y");
  write_file_whole(InsideFolder(folders.in, "there.png").path(), "z");
  CHECK(test::read_bytes(folders.in / "a/b/x.png") == "y");
  CHECK(test::read_bytes(folders.in / "a/b/there.png") == "z");
  const InsideFolder inside(folders.in, "a/x.png");
  CHECK(inside.renamed(inside.path().string() + ": full") == (folders.in / "a/x.png").string() + ": full");
}

TEST_CASE("links that appear after a folder was opened are not followed") {
  const Folders folders;
  const InsideFolder inside(folders.in, "a/new.png");
  std::filesystem::create_symlink(folders.scratch / "out/precious.png", folders.in / "a/new.png");
  write_file_whole(inside.path(), "y");
  std::filesystem::rename(folders.in / "a", folders.in / "moved");
  std::filesystem::create_symlink(folders.scratch / "out", folders.in / "a");
  PartialFile late(inside.path());
  late.commit();
  CHECK(test::read_bytes(folders.scratch / "out/precious.png") == "x");
  CHECK_FALSE(std::filesystem::exists(folders.scratch / "out/new.png"));
  CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(folders.in / "moved/new.png")));
}

}  // namespace
}  // namespace headroom
