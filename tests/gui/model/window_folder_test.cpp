#include "gui/model/window_folder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <QDir>
#include <QFileInfo>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/decoder/files/scratch.h"

namespace headroom::gui {
namespace {

/// The id of a process that has ended.
int ended_process() {
  const int child = fork();
  if (child == 0) _exit(0);
  REQUIRE(child > 0);
  waitpid(child, nullptr, 0);
  return child;
}

/// TMPDIR is this folder for as long as it lives.
struct TemporaryPlace {
  test::Scratch scratch;
  QByteArray before = qgetenv("TMPDIR");
  TemporaryPlace() { qputenv("TMPDIR", QByteArray::fromStdString(scratch.folder().string())); }
  ~TemporaryPlace() {
    if (before.isNull()) {
      qunsetenv("TMPDIR");
    } else {
      qputenv("TMPDIR", before);
    }
  }
  std::filesystem::path folder(const std::string& name) const {
    const std::filesystem::path made = scratch.folder() / name;
    std::filesystem::create_directory(made);
    std::ofstream(made / "plan.json") << "{}";
    return made;
  }
};

TEST_CASE("window folder: the next start removes those of ended processes and nothing else") {
  const TemporaryPlace place;
  const std::string process = std::to_string(ended_process());
  const auto left = place.folder("headroom-gui-" + process + "-aBcDeF");
  const auto shorter = place.folder("headroom-gui-" + process + "-aBcDe");
  const auto longer = place.folder("headroom-gui-" + process + "-aBcDeF.keep");
  const auto running = place.folder("headroom-gui-" + std::to_string(getpid()) + "-aBcDeF");
  const auto target = place.folder("target");
  const auto link = place.scratch.folder() / ("headroom-gui-" + process + "-qwerty");
  std::filesystem::create_directory_symlink(target, link);
  const auto file = place.scratch.write("headroom-gui-" + process + "-asdfgh", "mine");
  const WindowFolder used;
  REQUIRE(used.dir().isValid());
  remove_old_window_folders();
  CHECK_FALSE(std::filesystem::exists(left));
  for (const auto& path : {shorter, longer, running, target, link, std::filesystem::path(file)}) {
    CAPTURE(path);
    CHECK(std::filesystem::exists(path));
  }
  CHECK(std::filesystem::exists(target / "plan.json"));
  CHECK(QFileInfo::exists(used.dir().path()));
}

TEST_CASE("window folder: a killed window's folder is one that the next start removes") {
  const TemporaryPlace place;
  const int child = fork();
  if (child == 0) {
    const WindowFolder folder;
    _exit(folder.dir().isValid() ? 0 : 1);  // as a signal does: no destructor runs
  }
  int status = -1;
  waitpid(child, &status, 0);
  REQUIRE(status == 0);
  CHECK(QDir::temp().entryList({"headroom-gui-*"}, QDir::Dirs).size() == 1);
  remove_old_window_folders();
  CHECK(QDir::temp().entryList({"headroom-gui-*"}, QDir::Dirs).isEmpty());
}

}  // namespace
}  // namespace headroom::gui
