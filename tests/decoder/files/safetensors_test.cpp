#include <bit>
#include <catch2/catch.hpp>

#include "decoder/files/safetensors.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::bytes_of;
using test::require_input_error;
using test::safetensors_bytes;
using test::Scratch;

const std::string kGood =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,2],"data_offsets":[4,20]},)"
    R"("a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}} )";
const std::string kData = bytes_of<uint16_t>({0x3f80, 0xc000}) + bytes_of<float>({1, 2, 3, 4});

/// Opens a file of this header and `data_bytes` zeros; it must be refused with a line that holds all of
/// `parts`.
void require_refused(const std::string& header, size_t data_bytes, std::vector<std::string> parts) {
  const Scratch scratch;
  const auto file = scratch.write("w.safetensors", safetensors_bytes(header, std::string(data_bytes, '\0')));
  CAPTURE(header.substr(0, 200));
  parts.insert(parts.begin(), "w.safetensors: ");
  require_input_error([&] { SafetensorsFile{file}; }, parts);
}

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}";
}

std::vector<float> values_of(const TensorView& view) {
  std::vector<float> values(static_cast<size_t>(view.elements()));
  copy_as_float(view, values.data());
  return values;
}

TEST_CASE("a good file is read, twice over, and moved") {
  const Scratch scratch;
  SafetensorsFile first(scratch.write("w.safetensors", safetensors_bytes(kGood, kData)));
  const SafetensorsFile file(std::move(first));
  CHECK(file.names() == std::vector<std::string>{"b", "a"});
  CHECK(file.contains("a"));
  CHECK_FALSE(file.contains("__metadata__"));
  CHECK(file.tensor("b").shape == std::vector<int64_t>{2, 2});
  CHECK(file.tensor("b").bytes == 16);
  for (int time = 0; time < 2; ++time) {
    CHECK(values_of(file.tensor("a")) == std::vector<float>{1, -2});
    CHECK(values_of(file.tensor("b")) == std::vector<float>{1, 2, 3, 4});
  }
  require_input_error([&] { file.tensor("c"); }, {"w.safetensors: c: no such tensor"});
}

TEST_CASE("a tensor larger than the conversion buffer is read whole") {
  std::vector<float> values(200'003);
  std::vector<uint16_t> stored;
  for (size_t i = 0; i < values.size(); ++i) {
    stored.push_back(static_cast<uint16_t>(0x3f80 + i % 1000));
    values[i] = std::bit_cast<float>(uint32_t{stored[i]} << 16);
  }
  const Scratch scratch;
  const std::string header = "{" + tensor("x", "BF16", "[200003]", "[0,400006]") + "}";
  const SafetensorsFile file(scratch.write("w.safetensors", safetensors_bytes(header, bytes_of(stored))));
  CHECK(values_of(file.tensor("x")) == values);
  CHECK(values_of(file.tensor("x")) == values);
}

TEST_CASE("scalars, empty tensors and files without tensors are legal") {
  const Scratch scratch;
  const std::string header = "{" + tensor("s", "F32", "[]", "[0,4]") + "," +
                             tensor("e", "F32", "[0,9223372036854775807,3]", "[4,4]") + "}";
  const SafetensorsFile file(scratch.write("w.safetensors", safetensors_bytes(header, bytes_of<float>({5}))));
  CHECK(values_of(file.tensor("s")) == std::vector<float>{5});
  CHECK(values_of(file.tensor("e")).empty());
  CHECK(SafetensorsFile(scratch.write("n.safetensors", safetensors_bytes("{}", ""))).names().empty());
}

TEST_CASE("a file cut at any length is refused") {
  const Scratch scratch;
  const std::string whole = safetensors_bytes(kGood, kData);
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto file = scratch.write("w.safetensors", whole.substr(0, length));
    CAPTURE(length);
    require_input_error([&] { SafetensorsFile{file}; }, {"w.safetensors: "});
  }
  const auto longer = scratch.write("w.safetensors", whole + "x");
  require_input_error([&] { SafetensorsFile{longer}; }, {"expected 20 bytes of tensors", "found 21"});
}

TEST_CASE("any one byte of the header may be anything") {
  const Scratch scratch;
  const std::string whole = safetensors_bytes(kGood, kData);
  for (size_t i = 0; i < 8 + kGood.size(); ++i) {
    for (const char byte : {'\0', '"', '{', '}', '[', '9', '-', '\xff'}) {
      std::string changed = whole;
      changed[i] = byte;
      const auto path = scratch.write("w.safetensors", changed);
      try {
        const SafetensorsFile file(path);
        for (const std::string& name : file.names()) values_of(file.tensor(name));
      } catch (const InputError& error) {
        REQUIRE(std::string(error.what()).find('\n') == std::string::npos);
      }
    }
  }
}

TEST_CASE("a header length that cannot be is refused before anything is read") {
  const Scratch scratch;
  for (const uint64_t length :
       {uint64_t{3}, uint64_t{100'000'001}, uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 7}) {
    const auto file = scratch.write("w.safetensors", bytes_of<uint64_t>({length}) + "{}");
    require_input_error([&] { SafetensorsFile{file}; }, {"header length", std::to_string(length)});
  }
}

TEST_CASE("offsets that lie are refused") {
  require_refused("{" + tensor("x", "F32", "[4]", "[0,16]") + "}", 8,
                  {"is incomplete: expected 16 bytes", "found 8"});
  require_refused("{" + tensor("x", "F32", "[2]", "[8,0]") + "}", 8, {"x: data_offsets", "begin <= end"});
  require_refused("{" + tensor("x", "F32", "[3]", "[0,8]") + "}", 8,
                  {"x: data_offsets", "expected 12 bytes"});
  require_refused("{" + tensor("x", "F32", "[2]", "[-8,0]") + "}", 8, {"x: data_offsets", "found -8"});
  require_refused("{" + tensor("x", "F32", "[2]", "[0,18446744073709551615]") + "}", 8, {"x: data_offsets"});
  require_refused("{" + tensor("x", "F32", "[2]", "[0,8,16]") + "}", 8, {"x: data_offsets", "3 numbers"});
  require_refused("{" + tensor("x", "F32", "[2]", "[0.5,8]") + "}", 8, {"x: data_offsets", "0.5"});
}

TEST_CASE("overlapping tensors and gaps between them are refused") {
  const std::string x = tensor("x", "F32", "[2]", "[0,8]");
  require_refused("{" + x + "," + tensor("y", "F32", "[2]", "[4,12]") + "}", 12,
                  {"y: data_offsets", "byte 8"});
  require_refused("{" + x + "," + tensor("y", "F32", "[2]", "[0,8]") + "}", 8, {"data_offsets", "found 0"});
  require_refused("{" + x + "," + tensor("y", "F32", "[1]", "[12,16]") + "}", 16,
                  {"y: data_offsets", "byte 8"});
  require_refused("{" + tensor("x", "F32", "[1]", "[4,8]") + "}", 8, {"x: data_offsets", "byte 0"});
}

TEST_CASE("a shape whose product overflows is refused") {
  require_refused("{" + tensor("x", "F32", "[4294967296,4294967296]", "[0,0]") + "}", 0,
                  {"x: shape", "2^63"});
  require_refused("{" + tensor("x", "F32", "[4611686018427387904]", "[0,0]") + "}", 0, {"x: shape", "2^63"});
  require_refused("{" + tensor("x", "F32", "[9223372036854775808]", "[0,0]") + "}", 0, {"x: shape"});
  require_refused("{" + tensor("x", "F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]") + "}", 4,
                  {"x: shape", "more than 16"});
}

TEST_CASE("headers that are not what they should be are refused") {
  const std::string x = tensor("x", "F32", "[2]", "[0,8]");
  require_refused("", 0, {"header"});
  require_refused("[]", 0, {"header", "JSON object"});
  require_refused(" {}", 0, {"header", "JSON object"});
  require_refused("{" + x, 8, {"not valid JSON"});
  require_refused("{" + x + "} x", 8, {"not valid JSON"});
  require_refused("{" + x + "," + x + "}", 8, {"x: named twice"});
  require_refused(R"({"x":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8,
                  {"x: dtype", "twice"});
  require_refused(R"({"__metadata__":{},"__metadata__":{}})", 0, {"twice"});
  require_refused(R"({"__metadata__":{"a":1}})", 0, {"__metadata__", "only strings"});
  require_refused(R"({"x":{"dtype":"F32","shape":[2]}})", 8, {"x: data_offsets: missing"});
  require_refused(R"({"x":{"dtype":4,"shape":[2],"data_offsets":[0,8]}})", 8,
                  {"x: dtype", "a string", "found 4"});
  require_refused(R"({"x":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})", 8, {"x: shape", "a string"});
  require_refused(R"({"x":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", 8, {"x: shape", "an array"});
  require_refused(R"({"x":{"dtype":"F32","shape":[null],"data_offsets":[0,8]}})", 8, {"x: shape", "null"});
  require_refused(R"({"x":{"dtype":"F32","shape":{},"data_offsets":[0,8]}})", 8, {"x: shape", "an object"});
  require_refused(R"({"x":{"dtype":"F32","more":1}})", 8, {"x: more"});
  require_refused(R"({"x":[]})", 0, {"x", "an array"});
  require_refused(R"({"x":7})", 0, {"x", "found 7"});
  require_refused("{\"\xff\xfe\":{}}", 0, {"not valid JSON"});
  require_refused(R"({"line\nbreak":7})", 0, {"line\\nbreak"});
  require_refused("{\"" + std::string(100'000, 'n') + "\":7}", 0, {"nnn..."});
}

TEST_CASE("deep nesting is refused without recursion") {
  const size_t depth = 1'000'000;
  require_refused(R"({"x":)" + std::string(depth, '['), 0, {"x", "an array"});
  std::string objects = R"({"__metadata__":)";
  for (size_t i = 0; i < depth; ++i) objects += R"({"a":)";
  require_refused(objects, 0, {"__metadata__", "an object"});
}

TEST_CASE("other dtypes are refused only when asked for") {
  const Scratch scratch;
  const std::string header = "{" + tensor("i", "I64", "[1]", "[0,8]") + "," +
                             tensor("u", "F9", "[77]", "[8,12]") + "," +
                             tensor("f", "F32", "[1]", "[12,16]") + "}";
  const SafetensorsFile file(scratch.write(
      "w.safetensors", safetensors_bytes(header, std::string(12, '\0') + bytes_of<float>({3}))));
  CHECK(values_of(file.tensor("f")) == std::vector<float>{3});
  require_input_error([&] { file.tensor("i"); }, {"i: dtype", "F32, F16 or BF16", "I64"});
  require_input_error([&] { file.tensor("u"); }, {"u: dtype", "F9"});
}

TEST_CASE("a file that becomes shorter while it is read is an error, not a crash") {
  const Scratch scratch;
  const auto path = scratch.write("w.safetensors", safetensors_bytes(kGood, kData));
  const SafetensorsFile file(path);
  std::filesystem::resize_file(path, 100);
  float out[4];
  CHECK_THROWS_AS(copy_as_float(file.tensor("b"), out), DeviceError);
}

TEST_CASE("what is no regular file is refused") {
  const Scratch scratch;
  require_input_error([&] { SafetensorsFile{scratch / "none.safetensors"}; },
                      {"none.safetensors: no such file"});
  require_input_error([&] { SafetensorsFile{scratch.folder()}; }, {"expected a regular file"});
}

}  // namespace
}  // namespace headroom
