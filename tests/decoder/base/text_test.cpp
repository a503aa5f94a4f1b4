#include <catch2/catch.hpp>
#include <string>

#include "decoder/base/text.h"

namespace headroom {
namespace {

TEST_CASE("text that acts on a terminal is escaped") {
  CHECK(escaped("plain, größer, 方案, 🙂") == "plain, größer, 方案, 🙂");
  CHECK(escaped("a\nb\tc\rd") == "a\\nb\\tc\\rd");
  CHECK(escaped("\x1b[31mred\x07") == "\\x1b[31mred\\x07");
  CHECK(escaped(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(escaped("\xc2\x9b"
                "31m") == "\\x9b31m");  // CSI as one character
  CHECK(escaped("gpj.\xe2\x80\xae"
                "exe") == "gpj.\\u202eexe");  // from right to left
  CHECK(escaped("a\xe2\x80\xa8"
                "b") == "a\\u2028b");
}

TEST_CASE("bytes that are no UTF-8 are escaped one by one") {
  CHECK(escaped("\xff\xc3") == "\\xff\\xc3");
  CHECK(escaped("\xc3(") == "\\xc3(");
  CHECK(escaped("\xc0\x8a") == "\\xc0\\x8a");           // a line's end, overlong
  CHECK(escaped("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // half of a surrogate pair
  CHECK(escaped("\xf5\x80\x80\x80") == "\\xf5\\x80\\x80\\x80");
}

TEST_CASE("messages are bounded, and cut in the middle between characters") {
  CHECK(one_line("short\nline") == "short\\nline");
  std::string message = "begin ";
  for (int i = 0; i < 100'000; ++i) message += "ü";
  message += " end";
  const std::string line = one_line(message);
  CHECK(line.size() < 4100);
  CHECK(line.starts_with("begin ü"));
  CHECK(line.ends_with("ü end"));
  CHECK(line.find("\\x") == std::string::npos);
}

TEST_CASE("names in messages are cut at their end") {
  CHECK(printable(std::string(160, 'a')) == std::string(160, 'a'));
  CHECK(printable(std::string(161, 'a')) == std::string(160, 'a') + "...");
  CHECK(printable(std::string(159, 'a') + "üü") == std::string(159, 'a') + "...");
  CHECK(printable("a\nb") == "a\\nb");
}

}  // namespace
}  // namespace headroom
