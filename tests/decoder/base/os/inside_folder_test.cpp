#include "decoder/base/os/inside_folder.h"

#include <catch2/catch.hpp>

#include "decoder/base/os/partial_file.h"
#include "decoder/base/os/whole_file.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

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
