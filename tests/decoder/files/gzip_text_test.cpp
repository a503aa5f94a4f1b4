#include "decoder/files/gzip_text.h"

#include <catch2/catch.hpp>
#include <iterator>

#include "decoder/files/short_tokens.h"
#include "tests/decoder/files/gzip_bytes.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::gzip_bytes;
using test::require_input_error;
using test::Scratch;

constexpr UnpackedBounds kBounds{.most_bytes = 64 << 20};

std::string text_of(const std::filesystem::path& file, const UnpackedBounds& bounds = kBounds) {
  return {std::istreambuf_iterator<char>(open_json_text(file, bounds)->rdbuf()), {}};
}

/// Letters and numbers that pack some two times.
std::string some_text(size_t bytes) {
  std::string text;
  for (uint64_t i = 1; text.size() < bytes; ++i) text += std::to_string(i * 2654435761u % 1000003u) + ",";
  return text;
}

TEST_CASE("a file that fails while it is read is named") {
  struct Failing : std::streambuf {
    int_type underflow() override { throw std::ios_base::failure("basic_filebuf::underflow"); }
  };
  Failing buffer;
  const auto text = with_short_tokens(std::make_unique<std::istream>(&buffer), "a.json");
  CHECK_THROWS_WITH(text->rdbuf()->sgetc(), "a.json: cannot be read");
}

TEST_CASE("gzip: a text is the same packed or not, whatever its length") {
  const Scratch scratch;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{65'535}, size_t{65'536}, size_t{300'001}}) {
    CAPTURE(bytes);
    const std::string text = some_text(bytes);
    const auto plain = scratch.write("plain", text), packed = scratch.write("packed", gzip_bytes(text));
    CHECK_FALSE(is_gzip(plain));
    CHECK(is_gzip(packed));
    CHECK(text_of(plain) == text);
    CHECK(text_of(packed) == text);
  }
  const auto several = scratch.write("several", gzip_bytes("one ") + gzip_bytes("") + gzip_bytes("two"));
  CHECK(text_of(several) == "one two");
  CHECK_FALSE(is_gzip(scratch / "none"));
  CHECK_FALSE(is_gzip(scratch.folder()));
  require_input_error([&] { text_of(scratch / "none"); }, {"none: no such file"});
}

TEST_CASE("gzip: what is damaged or cut off is refused wherever it is") {
  const Scratch scratch;
  const std::string whole = gzip_bytes(some_text(200'000));
  for (size_t length = 2; length < whole.size(); length += whole.size() / 40) {
    const auto file = scratch.write("cut.gz", whole.substr(0, length));
    require_input_error([&] { text_of(file); }, {"cut.gz: this gzip file is cut off at byte"});
  }
  // The header's flags are not checked, and its time may be any.
  for (size_t at = 10; at < whole.size(); at += whole.size() / 40) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    const auto file = scratch.write("bad.gz", damaged);
    require_input_error([&] { text_of(file); }, {"bad.gz: this gzip file is "});
  }
  const auto behind = scratch.write("bad.gz", whole + "behind");
  require_input_error([&] { text_of(behind); }, {"bad.gz: this gzip file is damaged at byte"});
}

TEST_CASE("gzip: what unpacks to more than a text would is refused long before its end") {
  const Scratch scratch;
  const auto bomb = scratch.write("bomb.gz", test::gzip_bomb('\0', 1024));
  REQUIRE(std::filesystem::file_size(bomb) < 2 << 20);
  const auto read_until_refused = [&](const UnpackedBounds& bounds) {
    const std::unique_ptr<std::istream> in = open_json_text(bomb, bounds);
    int64_t bytes = 0;
    require_input_error(
        [&] {
          while (in->rdbuf()->sbumpc() != EOF) ++bytes;
        },
        {"bomb.gz: expected "});
    return bytes;
  };
  CHECK(read_until_refused({.most_bytes = int64_t{4} << 30}) < int64_t{110} << 20);
  CHECK(read_until_refused({.most_bytes = 1 << 20}) <= 1 << 20);
  const auto large = scratch.write("large", std::string(2000, 'x'));
  require_input_error([&] { text_of(large, {.most_bytes = 1999}); },
                      {"large: expected at most", "2000 bytes"});
}

}  // namespace
}  // namespace headroom
