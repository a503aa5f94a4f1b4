#include "decoder/files/pickle.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::require_input_error;
using test::Scratch;
using namespace std::string_literals;

Pickle parse(const std::string& bytes) {
  return Pickle::parse(bytes, "a.pickle");
}

PickleValue of(const PickleValue& dict, std::string_view key) {
  const std::optional<PickleValue> found = dict.find(key);
  CAPTURE(std::string(key));
  REQUIRE(found);
  return *found;
}

std::vector<int64_t> integers(const PickleValue& list) {
  std::vector<int64_t> result;
  for (size_t i = 0; i < list.size(); ++i) result.push_back(list[i].integer().value());
  return result;
}

/// The numbers of a set, which protocols below 4 write as a call with a list.
std::vector<int64_t> set_items(const PickleValue& value) {
  return integers(value.kind() == PickleKind::call ? value.arguments()[0] : value);
}

void check_scalars(const PickleValue& root) {
  CHECK(of(root, "none").is_none());
  CHECK(of(root, "true").boolean() == true);
  CHECK(of(root, "false").boolean() == false);
  CHECK(integers(of(root, "integers")) ==
        std::vector<int64_t>{0, 255, 256, 65535, 65536, -1, -2147483648, 2147483648, INT64_MAX, INT64_MIN});
  const PickleValue reals = of(root, "reals");
  CHECK(reals[0].real() == 0.5);
  CHECK(reals[1].real() == -1e300);
  CHECK(std::isinf(reals[2].real().value()));
  CHECK(of(root, "text").text() == "plain");
  CHECK(of(root, "accents").text() == "Grüße 你好 😀 \\ 'quoted' \n");
  CHECK(of(root, "long text").text() == std::string(300, 'x'));
}

void check_containers(const PickleValue& root) {
  const PickleValue tuples = of(root, "tuples");
  REQUIRE(tuples.size() == 5);
  for (size_t i = 0; i < 5; ++i) {
    CHECK(tuples[i].kind() == PickleKind::tuple);
    REQUIRE(tuples[i].size() == i);
    if (i > 0) CHECK(tuples[i][i - 1].integer() == static_cast<int64_t>(i));
  }
  const PickleValue list = of(root, "long list"), dict = of(root, "long dict");
  REQUIRE(list.size() == 1001);
  REQUIRE(dict.pairs() == 1001);
  for (size_t i = 0; i < 1001; ++i) {
    const auto number = static_cast<int64_t>(i);
    REQUIRE(list[i].integer() == number);
    REQUIRE(dict.key(i).integer() == number);
    REQUIRE(dict.value(i).integer() == number * number);
  }
  const PickleValue shared = of(root, "shared"), cycle = of(root, "cycle");
  CHECK(shared[0].index() == shared[1].index());
  CHECK(shared[1][0].text() == "twice");
  CHECK(cycle[1].index() == cycle.index());
  CHECK(cycle[1][1][1][0].integer() == 1);
  CHECK(set_items(of(root, "set")) == std::vector<int64_t>{1});
  CHECK(set_items(of(root, "frozen set")) == std::vector<int64_t>{2});
}

void check_objects(const PickleValue& root) {
  const PickleValue ordered = of(root, "ordered dict");
  CHECK(ordered.kind() == PickleKind::call);
  CHECK(ordered.name() == "collections.OrderedDict");
  REQUIRE(ordered.pairs() == 2);
  CHECK(ordered.key(0).text() == "b");
  CHECK(of(ordered, "a").integer() == 2);
  CHECK(of(ordered.state(), "note").text() == "kept");
  const PickleValue deque = of(root, "deque");
  CHECK(deque.name() == "collections.deque");
  CHECK(integers(deque) == std::vector<int64_t>{1, 2});
  CHECK(of(root, "date").name() == "datetime.date");
  CHECK(of(root, "fraction").name() == "fractions.Fraction");
  CHECK(of(root, "global").kind() == PickleKind::global);
  CHECK(of(root, "storage").kind() == PickleKind::persistent);
  CHECK(of(root, "storage").reference().text() == "storage 7");
}

TEST_CASE("a value of Python is read from each protocol") {
  for (int protocol = 2; protocol <= 5; ++protocol) {
    CAPTURE(protocol);
    const std::string name = "/pickles/protocol" + std::to_string(protocol) + ".pickle";
    const Pickle pickle = Pickle::read(HEADROOM_TEST_DATA + name);
    REQUIRE(pickle.root().kind() == PickleKind::dict);
    check_scalars(pickle.root());
    check_containers(pickle.root());
    check_objects(pickle.root());
    const PickleValue bytes = of(pickle.root(), "bytes");
    if (protocol >= 3) {
      CHECK(bytes.bytes() == "\x00\xff'\n"s);
    } else {
      CHECK(bytes.name() == "_codecs.encode");
    }
    CHECK(of(pickle.root(), "global").name() == (protocol < 3 ? "__builtin__.len" : "builtins.len"));
    CHECK(pickle.end() == std::filesystem::file_size(HEADROOM_TEST_DATA + name));
  }
}

TEST_CASE("instructions that Python writes no more") {
  CHECK(parse("U\x02hi.").root().text() == "hi");
  CHECK(parse("T\x02\0\0\0hi."s).root().text() == "hi");
  const Pickle keywords = parse("cm\nC\n)}U\1kK\5s\x92.");
  CHECK(of(keywords.root().keywords(), "k").integer() == 5);
  const Pickle large = parse("\x8a\x09\0\0\0\0\0\0\0\0\1."s);
  CHECK(large.root().kind() == PickleKind::large_integer);
  CHECK(large.root().integer() == std::nullopt);
  CHECK(large.root().bytes() == "\0\0\0\0\0\0\0\0\1"s);
  // A mark is dropped by POP, and what lies above one by POP_MARK.
  CHECK(parse("K\7(0.").root().integer() == 7);
  CHECK(parse("K\7(K\1K\2"
              "1.")
            .root()
            .integer() == 7);
  CHECK(parse("K\7"
              "2\x86.")
            .root()
            .size() == 2);
}

TEST_CASE("the last value of a key counts, and a list that others interrupt stays whole") {
  CHECK(of(parse("}(U\1kK\1U\1kK\2u.").root(), "k").integer() == 2);
  // Two batches of one list, between which another list grows.
  const Pickle both = parse(
      "]q\0(K\1K\2e0](K\7K\x08"
      "eh\0(K\3K\4e\x86."s);
  CHECK(integers(both.root()[0]) == std::vector<int64_t>{7, 8});
  CHECK(integers(both.root()[1]) == std::vector<int64_t>{1, 2, 3, 4});
}

TEST_CASE("several pickles in a row are read one by one") {
  const Pickle first = parse("K\1.K\2.");
  CHECK(first.root().integer() == 1);
  CHECK(first.end() == 3);
}

TEST_CASE("nothing that a pickle asks for is executed") {
  const Scratch scratch;
  const std::string file = (scratch / "executed").string();
  const std::string argument = "\x8c" + std::string(1, static_cast<char>(file.size() + 6)) + "touch " + file;
  for (const std::string& command : {"cos\nsystem\n(" + argument + "tR.",
                                     "\x80\x04\x8c\x05posix\x8c\x06system\x93" + argument + "\x85R."}) {
    const Pickle pickle = parse(command);
    CHECK(pickle.root().kind() == PickleKind::call);
    CHECK_THAT(pickle.root().name(), Catch::EndsWith(".system"));
    CHECK(pickle.root().arguments()[0].text() == "touch " + file);
  }
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("a laughing bomb takes no more room than its bytes") {
  // Each list holds the one before ten times: 10^40 strings to whoever walked them all.
  std::string bytes = "](U\3lol";
  for (int i = 0; i < 9; ++i) bytes += "U\3lol";
  bytes += "eq\0"s;
  for (int level = 0; level < 40; ++level) {
    const std::string get = "h" + std::string(1, static_cast<char>(level));
    bytes += "](";
    for (int i = 0; i < 10; ++i) bytes += get;
    bytes += "eq" + std::string(1, static_cast<char>(level + 1));
  }
  bytes += ".";
  const Pickle pickle = parse(bytes);
  CHECK(pickle.root().size() == 10);
  CHECK(pickle.values() < 100);
}

TEST_CASE("nesting as deep as the file is long is no recursion") {
  constexpr size_t kDepth = 1'000'000;
  const Pickle lists = parse(std::string(kDepth, ']') + std::string(kDepth - 1, 'a') + ".");
  PickleValue at = lists.root();
  size_t depth = 1;
  for (; at.size() == 1; at = at[0]) ++depth;
  CHECK(depth == kDepth);
  std::string calls = "cm\nf\n";
  for (size_t i = 0; i < kDepth; ++i) calls += ")R";
  CHECK(parse(calls + ".").root().name().empty());
  CHECK(parse(std::string(kDepth, '(') + "K\1.").root().integer() == 1);
}

TEST_CASE("what is claimed and not there is refused, with its byte") {
  const auto refused = [](const std::string& bytes, const std::vector<std::string>& parts) {
    CAPTURE(bytes.substr(0, 40));
    require_input_error([&] { parse(bytes); }, parts);
  };
  const std::string ten_gigabytes = "\0\xe4\x0b\x54\2\0\0\0"s;
  refused("", {"a.pickle: this pickle is damaged or cut off: byte 0: expected an instruction, found the end "
               "of the file"});
  refused("K\1", {"byte 2: expected an instruction, found the end"});
  refused("{\"json\": 1}", {"byte 0: expected an instruction of a pickle, found byte 0x7b"});
  refused("\x80\x06N.", {"byte 0: expected protocol 2 to 5, found 6"});
  refused("\x80\x01N.", {"byte 0: expected protocol 2 to 5, found 1"});
  refused("\x8d" + ten_gigabytes + "abc", {"byte 0: expected 10000000000 bytes of a string, found 3"});
  refused("\x8e" + ten_gigabytes + "abc", {"expected 10000000000 bytes of bytes, found 3"});
  refused("\x96" + ten_gigabytes, {"10000000000 bytes"});
  refused("\x95" + ten_gigabytes + "N.", {"a frame of 10000000000 bytes, found 2"});
  refused(
      "X\xff\xff\xff\xff"
      "abc",
      {"expected 4294967295 bytes of a string, found 3"});
  refused(
      "\x8b\xff\xff\xff\x7f"
      "abc",
      {"expected 2147483647 bytes of an integer"});
  refused("Nr\xff\xff\xff\xff.", {"byte 1: expected a memo index below", "found 4294967295"});
  refused("h\0."s, {"byte 0: expected a memo index that was put, found 0"});
  refused("K", {"byte 0: expected", "a number"});
  refused("cmodule", {"expected a line with the name of a module, found none"});
  refused("c" + std::string(2000, 'm') + "\nn\n.", {"a name of at most 1000 bytes, found 2000"});
}

TEST_CASE("a stack that holds something else is refused") {
  const auto refused = [](const std::string& bytes, const std::vector<std::string>& parts) {
    CAPTURE(bytes);
    require_input_error([&] { parse(bytes); }, parts);
  };
  refused(".", {"byte 0: expected a value before the end, found nothing on the stack"});
  refused("0.", {"expected a value to drop"});
  refused("2.", {"expected a value to repeat"});
  refused("t.", {"expected a mark before a tuple's items, found none"});
  refused("\x86.", {"expected 2 values for a tuple, found fewer"});
  refused("N(\x85.", {"expected 1 values for a tuple"});
  refused("NNa.", {"byte 2: expected a list, found None"});
  refused("]a.", {"expected a list and its new values"});
  refused("(K\1e.", {"expected a list, found nothing on the stack"});
  refused("](K\1(e.", {"expected a list, found an integer"});
  refused("}(K\1u.", {"expected a value for each key of a dict"});
  refused("]K\1K\2s.", {"expected a dict, found a list"});
  refused("cm\nf\n(K\1\x90.", {"expected a set, found a name of a module"});
  refused("cm\nf\nNR.", {"expected a tuple of arguments, found None"});
  refused("N}b.", {"expected an object for the state, found None"});
  refused("NN\x93.", {"expected the name of a module"});
  refused("\x82\1.", {"expected an instruction of a pickle, found byte 0x82"});
  refused("\x97.", {"found byte 0x97"});
}

TEST_CASE("a pickle cut anywhere, or with any byte changed, is read or refused") {
  const std::string whole = test::read_bytes(HEADROOM_TEST_DATA "/pickles/protocol4.pickle");
  for (size_t length = 0; length < whole.size(); length += 7) {
    CHECK_THROWS_AS(parse(whole.substr(0, length)), InputError);
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ static_cast<char>(1 + at % 255));
    try {
      const Pickle pickle = parse(changed);
      CHECK(pickle.values() <= 2 * changed.size() + 3);
    } catch (const InputError&) {
      // refused in a line
    }
  }
}

TEST_CASE("a file that is not there") {
  require_input_error([] { Pickle::read("/nowhere/a.pickle"); }, {"/nowhere/a.pickle: no such file"});
}

}  // namespace
}  // namespace headroom
