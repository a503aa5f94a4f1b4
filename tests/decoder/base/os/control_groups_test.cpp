#include "decoder/base/os/control_groups.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::Scratch;

/// A machine as a container sees it, of files.
class MadeUpMachine {
 public:
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((scratch_ / file).parent_path());
    std::ofstream(scratch_ / file) << text;
  }
  /// A group of version 2 at /sys/fs/cgroup.
  void group(const std::string& name, const std::string& most, int64_t used, int64_t inactive = 0,
             const std::string& high = "max") const {
    const std::string folder = "sys/fs/cgroup" + name + "/";
    write(folder + "memory.max", most + "\n");
    write(folder + "memory.high", high + "\n");
    write(folder + "memory.current", std::to_string(used) + "\n");
    write(folder + "memory.stat", "anon 1\nfile 2\ninactive_file " + std::to_string(inactive) + "\n");
  }
  void in_group(const std::string& own, const std::string& seen_from = "/") const {
    write("proc/self/cgroup", "0::" + own + "\n");
    write("proc/self/mountinfo", "22 1 0:20 / /proc rw - proc proc rw\n31 23 0:28 " + seen_from +
                                     " /sys/fs/cgroup rw,nosuid shared:9 master:1 - cgroup2 cgroup2 rw\n");
  }
  ControlGroups found() const { return own_control_groups(scratch_.folder()); }

 private:
  Scratch scratch_;
};

TEST_CASE("the tightest of a group and those above it rules") {
  const MadeUpMachine machine;
  machine.in_group("/user.slice/job/step");
  CHECK_FALSE(machine.found().free_memory_bytes);
  machine.group("/user.slice/job/step", "max", 10);
  CHECK_FALSE(machine.found().free_memory_bytes);
  machine.group("/user.slice/job", "1000", 300);
  CHECK(machine.found().free_memory_bytes == 700);
  machine.group("/user.slice", "5000", 4900);
  CHECK(machine.found().free_memory_bytes == 100);
  CHECK(machine.found().memory_bytes == 1000);
  machine.group("/user.slice/job/step", "50", 10);
  CHECK(machine.found().free_memory_bytes == 40);
  machine.group("/user.slice/other", "1", 1);
  CHECK(machine.found().free_memory_bytes == 40);
}

TEST_CASE("files' pages that are no longer in use are free, and a group that is throttled is full") {
  const MadeUpMachine machine;
  machine.in_group("/job");
  machine.group("/job", "1000", 900, 400);
  CHECK(machine.found().free_memory_bytes == 500);
  machine.group("/job", "1000", 900, 2000);
  CHECK(machine.found().free_memory_bytes == 1000);
  machine.group("/job", "1000", 900, 0, "950");
  CHECK(machine.found().free_memory_bytes == 50);
  machine.group("/job", "1000", 1200);
  CHECK(machine.found().free_memory_bytes == -200);
}

TEST_CASE("a container that sees its own group as the top") {
  const MadeUpMachine machine;
  machine.group("", "2000", 500);
  for (const auto& [own, seen_from] : {std::pair{"/", "/"}, std::pair{"/docker/abc", "/docker/abc"},
                                       std::pair{"/../other", "/"}, std::pair{"/elsewhere", "/docker/abc"}}) {
    CAPTURE(own, seen_from);
    machine.in_group(own, seen_from);
    CHECK(machine.found().free_memory_bytes == 1500);
  }
  machine.in_group("/docker/abc/inner", "/docker/abc");
  machine.group("/inner", "100", 20);
  CHECK(machine.found().free_memory_bytes == 80);
}

TEST_CASE("groups of version 1 limit nothing") {
  const MadeUpMachine machine;
  machine.write("proc/self/cgroup", "4:memory:/job\n0::/\n");
  machine.write("proc/self/mountinfo",
                "36 31 0:33 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                "42 31 0:40 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  machine.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1000\n");
  CHECK_FALSE(machine.found().memory_bytes);
}

TEST_CASE("quotas of processors, of a group and those above it") {
  const MadeUpMachine machine;
  machine.in_group("/a/b");
  machine.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  CHECK_FALSE(machine.found().processors);
  machine.write("sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  CHECK(machine.found().processors == 2.5);
  machine.write("sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  CHECK(machine.found().processors == 0.5);
}

TEST_CASE("files that make no sense limit nothing") {
  const MadeUpMachine machine;
  CHECK_FALSE(machine.found().free_memory_bytes);
  for (const char* text : {"", "\n", "0", "0:", "::::", "0::", "x:memory", "0::relative"}) {
    machine.write("proc/self/cgroup", text);
    CHECK_FALSE(machine.found().free_memory_bytes);
  }
  machine.in_group("/job");
  machine.group("/job", "many", 1);
  CHECK_FALSE(machine.found().free_memory_bytes);
  machine.write("proc/self/mountinfo", "31 23\n - cgroup2\n\\04\n");
  CHECK_FALSE(machine.found().free_memory_bytes);
  CHECK_NOTHROW(own_control_groups());
}

}  // namespace
}  // namespace headroom
