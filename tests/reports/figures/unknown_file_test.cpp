#include "reports/figures/unknown_file.h"

#include <catch2/catch.hpp>

#include "decoder/graph/errors.h"
#include "reports/figures/document.h"
#include "tests/decoder/files/scratch.h"

namespace headroom::reports {
namespace {

TEST_CASE("unknown files are told by what they seem to be, in one line") {
  const test::Scratch folder;
  const std::pair<std::string, const char*> files[] = {
      {std::string("PK\x03\x04 archive/data.pkl", 21), "torch.save"},
      {std::string("PK\x03\x04 letter.txt", 15), "zip"},
      {std::string("\x93NUMPY\x01\x00", 8), "NumPy"},
      {std::string("\x0e\0\0\0\0\0\0\0{\"a\":[0,1]}    ", 23), ".safetensors"},
      {"\xff\xd8\xff\xe0", "JPEG"},
      {"<?xml version=\"1.0\"?>", "XML"},
      {"  \n ", "nothing but spaces"},
      {"Dear reader", "a text that is no JSON"},
      {std::string("\x01\x02\x03\x04", 4), "a binary file"},
      {"{\"version\": 5}", "JSON of another program"},
  };
  for (const auto& [bytes, words] : files) {
    CAPTURE(words);
    const std::filesystem::path file = folder.write("some.file", bytes);
    try {
      read_document(file);
      FAIL("it was opened");
    } catch (const InputError& error) {
      const std::string text = error.what();
      CHECK_THAT(text, Catch::StartsWith(file.string() + ": this seems to be ") && Catch::Contains(words) &&
                           Catch::Contains("plans, statistics, traces"));
      CHECK(text.find('\n') == std::string::npos);
      CHECK(text.find("parse") == std::string::npos);
    }
  }
  CHECK_THROWS_WITH(read_document(folder.folder()), Catch::Contains("a folder"));
}

}  // namespace
}  // namespace headroom::reports
