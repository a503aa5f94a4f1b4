#!/usr/bin/env python3
"""Only decoder/base/os may call the operating system. Its headers show nothing of the system to other folders."""

import re
import unittest

from cpp_source import product_texts, without_comments

ROOM = "decoder/base/os/"
SUFFIXES = (".h", ".c", ".cpp", ".cu")
# Headers of POSIX, Linux, the GNU C library and Windows. <cerrno> and <csignal> tell about calls of the system.
HEADER = re.compile(
    r"^\s*#\s*include\s*<((?:sys|linux|asm|bits|net|netinet|arpa)/[^>]+"
    r"|(?:aio|dirent|dlfcn|elf|execinfo|fcntl|glob|grp|ifaddrs|link|malloc|mqueue|netdb|poll|pthread|pty|pwd|sched|semaphore|signal|"
    r"spawn|syslog|termios|ucontext|unistd|utime|errno|direct|io|process|windows|winsock2?)\.h"
    r"|cerrno|csignal)>", re.MULTILINE)
# Functions that headers of the standard library declare too, and that nothing of the product is called.
CALL = re.compile(
    r"(?<![\w.>])(?:(?<!:)::)?(pthread_\w+|sched_\w+|sig(?:action|fillset|emptyset|addset|procmask)|fork|execv\w*|waitpid|getpid|getppid|"
    r"geteuid|isatty|ioctl|fcntl|mmap|munmap|madvise|mincore|sysconf|syscall|dlopen|dlsym|dlclose|pread|pwrite|openat|unlink|unlinkat|"
    r"fallocate|ftruncate|fsync|fdatasync|mkstemp|mkostemp|mkdtemp|malloc_trim|mallopt|gethostname|_exit)\s*\(")


def system_uses(texts: dict[str, str]) -> list[str]:
    """Headers and functions of the system, outside of the room for them and in its headers."""
    seen = {file: without_comments(text) for file, text in texts.items() if not file.startswith(ROOM) or file.endswith(".h")}
    return [f"{file}: {match[1]}" for file, text in seen.items() for what in (HEADER, CALL) for match in what.finditer(text)]


class SystemCalls(unittest.TestCase):
    def test_product(self):
        texts = product_texts(SUFFIXES)
        self.assertGreater(len(texts), 300)
        self.assertEqual(system_uses(texts), [])

    def test_the_room_has_them(self):
        sources = {file.removeprefix(ROOM): text for file, text in product_texts(SUFFIXES).items() if file.startswith(ROOM)}
        self.assertGreater(len(system_uses(sources)), 100)

    def test_finds_each_kind(self):
        for header in ("sys/mman.h", "unistd.h", "fcntl.h", "dlfcn.h", "pthread.h", "csignal", "cerrno", "linux/magic.h", "windows.h"):
            self.assertEqual(system_uses({"decoder/cpu/a.cpp": f"#include <{header}>\n"}), [f"decoder/cpu/a.cpp: {header}"])
            self.assertEqual(system_uses({ROOM + "a.h": f"#include <{header}>\n"}), [f"{ROOM}a.h: {header}"])
            self.assertEqual(system_uses({ROOM + "a.cpp": f"#include <{header}>\n"}), [])
        self.assertEqual(system_uses({"gui/a.cpp": "int f() { return ::getpid(); }\n"}), ["gui/a.cpp: getpid"])
        self.assertEqual(system_uses({"gui/a.cpp": "#include <map>\n// fork() follows\nint f() { return runs.fork(); }\n"}), [])


if __name__ == "__main__":
    unittest.main()
