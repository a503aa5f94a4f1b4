#include "decoder/base/os/system_failure.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>

#include "decoder/base/os/whole_file.h"
#include "decoder/families/load_model.h"
#include "decoder/graph/model.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/no_descriptors.h"

// In the place of the C library's: what is named so lies on a broken disk.
extern "C" int stat(const char* path, struct stat* found) noexcept {
  if (std::strstr(path, "on-a-broken-disk") != nullptr) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, found, 0));
}

namespace headroom {
namespace {

using test::Scratch;

TEST_CASE("a failed call is the system's fault or the input's, by its errno") {
  for (const int number : {ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EIO}) {
    CAPTURE(number);
    CHECK(is_system_failure(number));
    CHECK_THROWS_AS(fail_by_errno("a.npy", number), DeviceError);
  }
  for (const int number : {0, ENOENT, EACCES, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG}) {
    CAPTURE(number);
    CHECK_FALSE(is_system_failure(number));
    CHECK_THROWS_AS(fail_by_errno("a.npy", number), InputError);
  }
  CHECK_THROWS_WITH(fail_by_errno("a.npy", EIO), "a.npy: Input/output error");
}

TEST_CASE("what stands at a path is looked at behind links, and a disk that fails is not an empty one") {
  const Scratch scratch;
  scratch.write("file", "x");
  std::filesystem::create_directory(scratch / "folder");
  std::filesystem::create_symlink("file", scratch / "link");
  std::filesystem::create_symlink("nowhere", scratch / "broken");
  CHECK(is_file_at(scratch / "file"));
  CHECK(is_file_at(scratch / "link"));
  CHECK(is_folder_at(scratch / "folder"));
  CHECK(is_there(scratch / "folder"));
  for (const char* name : {"none", "broken", "file/below"}) {
    CAPTURE(name);
    CHECK_FALSE(is_there(scratch / name));
    CHECK_FALSE(is_file_at(scratch / name));
    CHECK_FALSE(is_folder_at(scratch / name));
  }
  const std::filesystem::path unknown = scratch / "on-a-broken-disk";
  CHECK_THROWS_AS(is_there(unknown), DeviceError);
  CHECK_THROWS_AS(is_file_at(unknown), DeviceError);
  CHECK_THROWS_AS(is_folder_at(unknown), DeviceError);
  CHECK_THROWS_AS(read_text_file(unknown, 100), DeviceError);
  CHECK_THROWS_AS(resolve_model(unknown.string()), DeviceError);
}

TEST_CASE("a text that there is no descriptor for is no bad input") {
  const Scratch scratch;
  const std::filesystem::path file = scratch.write("file", "x");
  CHECK(read_text_file(file, 100) == "x");
  CHECK(test::throws_without_descriptors<DeviceError>([&] { read_text_file(file, 100); }));
}

}  // namespace
}  // namespace headroom
