#include "decoder/files/json_text.h"

#include <catch2/catch.hpp>
#include <iterator>

#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::require_input_error;
using test::Scratch;

std::string text_of(const std::filesystem::path& file, int64_t most_bytes = 64 << 20) {
  return {std::istreambuf_iterator<char>(open_json_text(file, most_bytes)->rdbuf()), {}};
}

TEST_CASE("a file that fails while it is read is named") {
  struct Failing : std::streambuf {
    int_type underflow() override { throw std::ios_base::failure("basic_filebuf::underflow"); }
  };
  Failing buffer;
  const auto text = with_short_tokens(std::make_unique<std::istream>(&buffer), "a.json");
  CHECK_THROWS_WITH(text->rdbuf()->sgetc(), "a.json: cannot be read");
}

TEST_CASE("a JSON text is read whole, whatever its length, up to a bound") {
  const Scratch scratch;
  for (const size_t numbers : {size_t{0}, size_t{1}, size_t{65'535}, size_t{65'536}, size_t{300'001}}) {
    CAPTURE(numbers);
    std::string text;
    for (uint64_t i = 1; i <= numbers; ++i) text += std::to_string(i * 2654435761u % 1000003u) + ",";
    CHECK(text_of(scratch.write("a.json", text)) == text);
  }
  require_input_error([&] { text_of(scratch / "none"); }, {"none: no such file"});
  const auto large = scratch.write("large", std::string(2000, 'x'));
  require_input_error([&] { text_of(large, 1999); }, {"large: expected at most", "2000 bytes"});
}

}  // namespace
}  // namespace headroom
