#include "decoder/base/os/partial_file.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <optional>

#include "decoder/base/errors.h"
#include "decoder/base/os/open_file.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/no_descriptors.h"

namespace headroom {
namespace {

using test::require_input_error;
using test::Scratch;

constexpr PartialFile::Kind kFolder = PartialFile::Kind::folder;

TEST_CASE("a folder appears whole, also in the place of an empty one and behind a link") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "empty");
  std::filesystem::create_directory(scratch / "far");
  std::filesystem::create_directory_symlink("far", scratch / "link");
  for (const std::string name : {"new", "empty", "link", "slash/", "dots/../dotted"}) {
    CAPTURE(name);
    if (name.starts_with("dots")) std::filesystem::create_directory(scratch / "dots");
    PartialFile folder(scratch / name, kFolder);
    WrittenFile(folder.partial() / "a", "a").write_at(0, "x", 1);
    folder.make_folder("b");
    WrittenFile(folder.partial() / "b" / "c", "c").write_at(0, "y", 1);
    CHECK_FALSE(std::filesystem::exists(scratch / name / "a"));
    folder.commit();
    CHECK(test::read_bytes(scratch / name / "a") == "x");
    CHECK(test::read_bytes(scratch / name / "b/c") == "y");
  }
  CHECK(std::filesystem::is_symlink(scratch / "link"));
  CHECK(scratch.files() ==
        std::vector<std::string>{"dots", "dotted", "empty", "far", "link", "new", "slash"});
}

TEST_CASE("a folder that cannot be a new one is refused") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "full");
  scratch.write("full/file", "x");
  scratch.write("file", "x");
  std::filesystem::create_symlink("nowhere", scratch / "broken");
  require_input_error([&] { PartialFile(scratch / "full", kFolder); },
                      {"full: expected a new or empty folder", "files in it"});
  require_input_error([&] { PartialFile(scratch / "full/", kFolder); },
                      {"full: expected a new or empty folder"});
  require_input_error([&] { PartialFile(scratch / "file", kFolder); },
                      {"expected a new or empty folder", "found a file"});
  require_input_error([&] { PartialFile(scratch / "broken", kFolder); }, {"expected a new or empty folder"});
  require_input_error([&] { PartialFile(scratch / "none/new", kFolder); },
                      {"new", "expected an existing folder"});
  CHECK(scratch.files() == std::vector<std::string>{"broken", "file", "full"});
  CHECK(test::read_bytes(scratch / "full/file") == "x");
}

TEST_CASE("a folder that was filled in the meantime is not replaced") {
  const Scratch scratch;
  {
    PartialFile folder(scratch / "o", kFolder);
    std::filesystem::create_directory(scratch / "o");
    scratch.write("o/file", "x");
    CHECK_THROWS_AS(folder.commit(), DeviceError);
  }
  CHECK(scratch.files() == std::vector<std::string>{"o"});
  CHECK(test::read_bytes(scratch / "o/file") == "x");
}

TEST_CASE("a folder that is given up goes also where there are no more descriptors") {
  const Scratch scratch;
  {
    std::optional<PartialFile> folder(std::in_place, scratch / "o", kFolder);
    WrittenFile(folder->partial() / "00000.png", "a").write_at(0, "x", 1);
    const test::NoDescriptors none;
    folder.reset();
  }
  CHECK(scratch.files().empty());
  CHECK(test::throws_without_descriptors<DeviceError>([&] { PartialFile(scratch / "o", kFolder); }));
  CHECK(scratch.files().empty());
}

TEST_CASE("removing takes frames alone, no deeper than outputs are, and never follows a link") {
  const Scratch scratch;
  std::filesystem::create_directories(scratch / "o/0/1");
  scratch.write("o/0/1/pixels", "x");
  scratch.write("o/0/00000.png", "x");
  std::filesystem::create_directory(scratch / "far");
  scratch.write("far/file", "x");
  std::filesystem::create_directory_symlink("../far", scratch / "o/1");
  remove_with_contents((scratch / "o").c_str());
  CHECK(test::read_bytes(scratch / "o/0/1/pixels") == "x");
  CHECK_FALSE(std::filesystem::exists(scratch / "o/0/00000.png"));
  CHECK_FALSE(std::filesystem::is_symlink(scratch / "o/1"));
  CHECK(test::read_bytes(scratch / "far/file") == "x");
  std::filesystem::create_directory_symlink("far", scratch / "link");
  remove_with_contents((scratch / "link").c_str());
  CHECK(scratch.files() == std::vector<std::string>{"far", "o"});
}

}  // namespace
}  // namespace headroom
