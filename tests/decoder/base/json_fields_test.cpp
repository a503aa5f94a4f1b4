#include "decoder/base/json_fields.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::require_input_error;

TEST_CASE("fields are reached by path and named in every failure") {
  const nlohmann::json value = parse_json(R"({"passes": [{"tiles": "x", "n": 7}]})", "plan.json");
  const JsonFields file(value, "plan.json");
  CHECK(file["passes"][0]["n"].integer(0, 7) == 7);
  CHECK(file.has("passes"));
  CHECK_FALSE(file.has("tiles"));
  CHECK_FALSE(file["passes"].has("0"));
  CHECK(file["passes"].size(1) == 1);
  require_input_error([&] { file["passes"][0]["tiles"].size(9); },
                      {"plan.json: passes[0].tiles: expected an array, found string"});
  require_input_error([&] { file["passes"][0]["tiles"]["y"]; }, {"passes[0].tiles: expected an object"});
  require_input_error([&] { file["passes"][1]; }, {"plan.json: passes[1]: missing"});
  require_input_error([&] { file["passes"][0]["none"]; }, {"plan.json: passes[0].none: missing"});
  require_input_error([&] { file["passes"].size(0); }, {"passes: expected at most 0 elements, found 1"});
  require_input_error([&] { file["passes"][0][size_t{0}]; }, {"passes[0]: expected an array"});
  require_input_error([&] { file.fail("what"); }, {"plan.json: what"});
}

TEST_CASE("integers keep to their range, at the ends of 64 bits too") {
  const auto read = [](const std::string& text, int64_t least, int64_t most) {
    const nlohmann::json value = parse_json(text, "f");
    return JsonFields(value, "f", "n").integer(least, most);
  };
  CHECK(read("9223372036854775807", 0, INT64_MAX) == INT64_MAX);
  CHECK(read("-9223372036854775808", INT64_MIN, 0) == INT64_MIN);
  CHECK(read("3", 3, 3) == 3);
  for (const char* text : {"2", "4", "3.0", "3e0", "\"3\"", "true", "null", "[3]", "9223372036854775808",
                           "18446744073709551615", "18446744073709551619", "-18446744073709551613", "1e30"}) {
    CAPTURE(text);
    require_input_error([&] { read(text, 3, 3); }, {"f: n: expected an integer from 3 to 3, found "});
  }
}

TEST_CASE("numbers, flags and texts are of their type") {
  const nlohmann::json value = parse_json(R"({"n": -1.5, "b": false, "t": "x", "z": null})", "f");
  const JsonFields file(value, "f");
  CHECK(file["n"].number() == -1.5);
  CHECK_FALSE(file["b"].boolean());
  CHECK(file["t"].text() == "x");
  CHECK(file["z"].is_null());
  require_input_error([&] { file["t"].number(); }, {"f: t: expected a number"});
  require_input_error([&] { file["n"].boolean(); }, {"f: n: expected true or false"});
  require_input_error([&] { file["b"].text(); }, {"f: b: expected a string"});
  require_input_error([&] { file["z"].number(); }, {"f: z: expected a number"});
  const nlohmann::json infinite = std::numeric_limits<double>::infinity();
  require_input_error([&] { JsonFields(infinite, "f", "i").number(); }, {"f: i: expected a number"});
}

TEST_CASE("messages stay one short line whatever a value holds") {
  const nlohmann::json value{{"t", std::string(100000, 'x')}, {"line", "a\nb"}};
  const JsonFields file(value, "f");
  require_input_error([&] { file["t"].number(); }, {"f: t: expected a number"});
  require_input_error([&] { file["line"].number(); }, {"f: line: expected a number"});
  try {
    file["t"].integer(0, 1);
    FAIL("expected a refusal");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()).size() < 200);
  }
}

TEST_CASE("nesting is limited, but braces in strings do not count") {
  CHECK_NOTHROW(parse_json(std::string(64, '[') + std::string(64, ']'), "f"));
  require_input_error([] { parse_json(std::string(65, '[') + std::string(65, ']'), "f"); },
                      {"f: nested deeper"});
  CHECK(parse_json("\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\"", "f").is_string());
  require_input_error([] { parse_json("\"\\", "f"); }, {"f: not valid JSON"});
}

TEST_CASE("text is refused whose values would take far more memory than it, or whose strings are long") {
  constexpr size_t kMib = size_t{1} << 20;
  const auto repeated = [](const std::string& element, size_t bytes) {
    std::string text = "{\"a\": [";
    while (text.size() < bytes) text += element + ",";
    return text + "0]}";
  };
  for (const char* element : {"0", "[]", "{}", "[0,64]", "{\"a\":1}", "\"\"", "[[[[0]]]]"}) {
    CAPTURE(element);
    CHECK_NOTHROW(check_json(repeated(element, 2 * kMib), "f"));
    require_input_error([&] { check_json(repeated(element, 24 * kMib), "f"); },
                        {"f: expected JSON that takes at most 192 MiB in memory, found more"});
  }
  const std::string long_string = "\"" + std::string(900'000, 'x') + "\"";
  CHECK_NOTHROW(check_json(repeated(long_string, 80 * kMib), "f"));
  require_input_error([&] { check_json(repeated(long_string, 100 * kMib), "f"); }, {"at most 192 MiB"});
  for (const char c : {' ', '1', 'x'}) {
    const std::string quote = c == 'x' ? "\"" : "";
    require_input_error([&] { parse_json("[" + quote + std::string(2 * kMib, c) + quote + "]", "f"); },
                        {"f: expected JSON with strings of at most 1 MiB, found a longer one at byte"});
  }
}

TEST_CASE("bytes that are not UTF-8 are refused when they are parsed") {
  require_input_error([] { parse_json("{\"a\": \"\xff\xfe\"}", "f"); }, {"f: not valid JSON"});
}

TEST_CASE("files are read whole, or refused by name") {
  const test::Scratch scratch;
  const auto file = scratch.write("a.json", R"({"schema": "headroom.plan", "version": 2})");
  const nlohmann::json value = read_json_file(file, 1000);
  const JsonFields fields(value, file.string());
  CHECK_NOTHROW(check_schema(fields, "headroom.plan", 2));
  require_input_error([&] { check_schema(fields, "headroom.plan", 1); },
                      {file.string(), "version", "newer", "2", "1"});
  require_input_error([&] { check_schema(fields, "headroom.plan", 3); },
                      {"version: written by an older Headroom: version 2", "make it again"});
  require_input_error([&] { check_schema(fields, "headroom.stats", 2); },
                      {"schema", "headroom.stats", "headroom.plan"});
  require_input_error([&] { read_json_file(file, 10); }, {file.string(), "larger than the 10 bytes"});
  require_input_error([&] { read_json_file(scratch / "b.json", 10); }, {"b.json: no such file"});
  require_input_error([&] { read_json_file(scratch.folder(), 10); }, {"no such file"});
  for (const char* version : {"0", "-1", "1.5", "\"1\"", "99999999999"}) {
    CAPTURE(version);
    const nlohmann::json other =
        parse_json(std::string(R"({"schema": "s", "version": )") + version + "}", "f");
    require_input_error([&] { check_schema(JsonFields(other, "f"), "s", 3); },
                        {"f: version: expected an integer"});
  }
}

TEST_CASE("a file of another kind is named in words") {
  const nlohmann::json stats{{"schema", "headroom.stats"}, {"version", 1}};
  require_input_error([&] { check_schema(JsonFields(stats, "s.json"), "headroom.plan", 1); },
                      {"s.json: schema: expected \"headroom.plan\", found \"headroom.stats\"",
                       "the statistics of a run", "where a plan (headroom-plan -o) should be"});
  require_input_error([] { parse_json("# Headroom\n", "README.md"); },
                      {"README.md: not valid JSON: this seems to be"});
  require_input_error([] { parse_json("\x89PNG\r\n", "a.png"); },
                      {"a.png: not valid JSON: this seems to be a picture"});
  require_input_error([] { parse_json("", "empty.json"); }, {"the file is empty"});
}

TEST_CASE("a key without its unit suggests the key with it") {
  const nlohmann::json request{{"height", 8}};
  require_input_error(
      [&] {
        require_known_keys(JsonFields(request, "r.json"), {"name", "width_pixels", "height_pixels"});
      },
      {"unknown key \"height\"; did you mean \"height_pixels\"?"});
}

}  // namespace
}  // namespace headroom
