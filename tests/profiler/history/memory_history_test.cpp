#include "profiler/history/memory_history.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "profiler/history/code_stacks.h"
#include "tests/decoder/files/scratch.h"

namespace headroom::profiler {
namespace {

using test::require_input_error;
using test::Scratch;
using namespace std::string_literals;

constexpr const char* kFolder = HEADROOM_TEST_DATA "/memory_histories/";
using Strings = std::vector<std::string>;

nlohmann::json expected() {
  return nlohmann::json::parse(std::ifstream(std::string(kFolder) + "expected.json"));
}

MemoryHistory snapshot(const std::string& name) {
  return read_memory_snapshot(std::string(kFolder) + name);
}

TEST_CASE("snapshots of PyTorch 2.11 and of its newest form say the same") {
  const nlohmann::json expect = expected();
  for (const char* name : {"torch-2.11.pickle", "torch-newest.pickle"}) {
    CAPTURE(name);
    const MemoryHistory history = snapshot(name);
    REQUIRE(history.devices.size() == 1);
    const DeviceHistory& device = history.devices[0];
    CHECK(device.device == "cuda:0");
    const size_t last = device.moments() - 1;
    CHECK(device.allocated_bytes[device.peak()] == expect["peak_bytes"]);
    CHECK(device.allocated_bytes[0] == 0);
    CHECK(device.allocated_bytes[last] == expect["allocated_at_end_bytes"]);
    CHECK(device.reserved_bytes[last] == expect["reserved_at_end_bytes"]);
    CHECK(device.seconds.size() == device.moments());
    REQUIRE(device.refusals.size() == 1);
    CHECK(device.refusals[0].asked_bytes == expect["asked_bytes"]);
    CHECK(device.refusals[0].free_bytes == expect["device_free_bytes"].get<int64_t>());
    CHECK(device.asked_last() == last);
    const std::optional<Fragmentation> lost = fragmentation_at(device, last);
    REQUIRE(lost);
    CHECK(lost->largest_free_bytes == expect["largest_free_bytes"]);
    CHECK(lost->rounding_bytes == expect["rounding_at_end_bytes"]);
    CHECK(lost->inactive_split_bytes + lost->releasable_bytes == expect["free_bytes"]);
    CHECK(lost->reserved_bytes ==
          lost->allocated_bytes + lost->rounding_bytes + lost->inactive_split_bytes + lost->releasable_bytes);
  }
  CHECK(snapshot("torch-newest.pickle").allocator_settings == "expandable_segments:False");
}

TEST_CASE("what is live adds up to what is allocated, at every moment") {
  for (const char* name : {"torch-2.11.pickle", "torch-late.pickle"}) {
    const MemoryHistory history = snapshot(name);
    const DeviceHistory& device = history.devices[0];
    for (size_t i = 0; i < device.moments(); ++i) {
      int64_t sum = 0;
      for (const RecordedAllocation* one : device.live_at(i)) sum += one->bytes;
      REQUIRE(sum == device.allocated_bytes[i]);
    }
  }
}

TEST_CASE("a recording that began late knows what was there before") {
  const MemoryHistory whole = snapshot("torch-2.11.pickle"), late = snapshot("torch-late.pickle");
  const DeviceHistory &all = whole.devices[0], &tail = late.devices[0];
  REQUIRE(tail.moments() < all.moments());
  const size_t shift = all.moments() - tail.moments();
  for (size_t i = 0; i < tail.moments(); ++i) {
    CAPTURE(i);
    CHECK(tail.allocated_bytes[i] == all.allocated_bytes[i + shift]);
    CHECK(tail.reserved_bytes[i] == all.reserved_bytes[i + shift]);
  }
  const auto before = tail.live_at(0);
  REQUIRE_FALSE(before.empty());
  for (const RecordedAllocation* one : before) CHECK(one->before_recording);
}

TEST_CASE("who asked is named by the module outside torch") {
  const MemoryHistory history = snapshot("torch-2.11.pickle");
  const DeviceHistory& device = history.devices[0];
  const RecordedRefusal& refused = device.refusals[0];
  CHECK(module_path(history.stacks, refused.stack) == Strings{"autoencoder_kl.py:_decode", "vae.py:forward",
                                                              "unet_2d_blocks.py:forward",
                                                              "upsampling.py:forward", "interpolate"});
  CHECK(place_of(history.stacks, refused.stack) == "upsampling.py:170 forward");
  const std::vector<const RecordedAllocation*> live = device.live_at(device.peak());
  REQUIRE(live.size() >= 3);
  CHECK(place_of(history.stacks, live[0]->stack) == "resnet.py:341 forward");
  CHECK(module_path(history.stacks, live.back()->stack) ==
        Strings{"autoencoder_kl.py:_decode", "vae.py:forward"});
  CHECK(place_of(history.stacks, 0).empty());
  CHECK(module_path(history.stacks, 0).empty());
}

TEST_CASE("what is no history is refused in a line") {
  const Scratch scratch;
  const auto refused = [&](const std::string& bytes, const Strings& parts) {
    const auto file = scratch.write("a.pickle", bytes);
    CAPTURE(bytes.substr(0, 60));
    require_input_error([&] { read_memory_snapshot(file); }, parts);
  };
  const auto text = [](const std::string& key) {
    return "\x8c" + std::string(1, static_cast<char>(key.size())) + key;
  };
  refused("cposix\nsystem\n(" + text("touch " + (scratch / "executed").string()) + "tR.",
          {"a.pickle: the snapshot: expected a dict, found a call of posix.system, which is not made"});
  CHECK_FALSE(std::filesystem::exists(scratch / "executed"));
  refused(
      "]"
      ".",
      {"expected a dict, found a list"});
  refused(
      "}"
      ".",
      {"expected a memory snapshot of PyTorch", "torch.cuda.memory._dump_snapshot()"});
  refused("}" + text("segments") + "]s.", {"a device with memory"});
  const auto record = [&](const std::string& fields) {
    return "}" + text("device_traces") + "]]}(" + fields + "uaas.";
  };
  refused(record(text("size") + "K\1"), {"device_traces[0][0].action: missing"});
  refused(record(text("action") + "K\1"),
          {"device_traces[0][0].action: expected a string, found an integer"});
  refused(record(text("action") + text("alloc") + text("addr") + "K\1" + text("size") + "J\xff\xff\xff\xff"),
          {"device_traces[0][0].size: expected an integer from 0 to", "found -1"});
  refused(record(text("action") + text("alloc") + text("addr") + "K\1" + text("size") +
                 "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"),
          {"device_traces[0][0].size: expected an integer from 0 to", "found 9223372036854775807"});
  refused(record(text("action") + text("alloc") + text("size") + "K\1"),
          {"device_traces[0][0].addr: missing"});
  // One call within: what is not looked at is not a fault, and a call in place of a number is.
  refused(record(text("action") + text("alloc") + text("addr") + "K\1" + text("size") + "cos\ngetpid\n)R"),
          {"size: expected an integer"});
}

TEST_CASE("containers of torch's own pickler are read through their type tags") {
  const Scratch scratch;
  const std::string tag = "ctorch.jit._pickle\nrestore_type_tag\n(", type = "U\4Dict\164R";
  const std::string frame = tag + "}(U\4nameU\5layerU\10filenameU\4passu" + type;
  const std::string frames = tag + "](" + frame + "e" + type;
  const std::string entry =
      tag + "}(U\6actionU\5allocU\4addrM\0\4U\4sizeM\0\2U\6frames"s + frames + "u" + type;
  const auto file = scratch.write("a.pickle", tag + "}(U\15device_traces" + tag + "](" + tag + "](" + entry +
                                                  "e" + type + "e" + type + "u" + type + ".");
  const MemoryHistory history = read_memory_snapshot(file);
  CHECK(history.devices[0].allocated_bytes == std::vector<int64_t>{0, 512});
  CHECK(place_of(history.stacks, history.devices[0].allocations[0].stack) == "pass:layer");
}

TEST_CASE("one record that stands for a million is refused") {
  // A list of lists that all hold the same thousand records.
  const Scratch scratch;
  std::string bytes =
      "}\x8c\x0d"
      "device_traces](](}(\x8c\x06"
      "action\x8c\x04"
      "free\x8c\x04"
      "addrK\1\x8c\x04sizeK\1uq\0"s;
  for (int i = 0; i < 999; ++i) bytes += "h\0"s;
  bytes += "eq\1"s;
  for (int i = 0; i < 999; ++i) bytes += "h\1"s;
  bytes += "es.";
  const auto file = scratch.write("a.pickle", bytes);
  require_input_error([&] { read_memory_snapshot(file); },
                      {"a.pickle: expected each record once, found them repeated"});
}

/// A snapshot of records of one device: {action, address, bytes} each.
class RecordsFile {
 public:
  struct Record {
    std::string action;
    int address = 0, bytes = 0;
  };
  explicit RecordsFile(const std::vector<Record>& records) {
    std::string entries;
    for (const Record& record : records) {
      entries += "}(" + text("action") + text(record.action) + text("addr") + number(record.address) +
                 text("size") + number(record.bytes) + "u";
    }
    file_ = scratch_.write("a.pickle", "}" + text("device_traces") + "](](" + entries + "ees.");
  }
  MemoryHistory read() const { return read_memory_snapshot(file_); }

 private:
  static std::string text(const std::string& key) {
    return "\x8c" + std::string(1, static_cast<char>(key.size())) + key;
  }
  static std::string number(int value) {
    return "M" + std::string{static_cast<char>(value & 255), static_cast<char>(value >> 8)};
  }
  Scratch scratch_;
  std::filesystem::path file_;
};

TEST_CASE("an expandable segment grows and shrinks piece by piece") {
  const MemoryHistory history = RecordsFile({{"segment_map", 1024, 1024},
                                             {"segment_map", 2048, 1024},
                                             {"alloc", 1024, 512},
                                             {"segment_unmap", 2560, 512},
                                             {"segment_unmap", 1536, 512}})
                                    .read();
  const DeviceHistory& device = history.devices[0];
  CHECK(device.reserved_bytes == std::vector<int64_t>{0, 1024, 2048, 2048, 1536, 1024});
  CHECK(device.seconds.empty());
  CHECK(fragmentation_at(device, 3)->largest_free_bytes == 1536);
  CHECK(fragmentation_at(device, 5)->inactive_split_bytes == 0);
  CHECK(fragmentation_at(device, 5)->releasable_bytes == 512);
}

TEST_CASE("segments that lie side by side go back to the driver one by one") {
  const MemoryHistory history =
      RecordsFile({{"segment_alloc", 1024, 1024}, {"segment_alloc", 2048, 1024}, {"alloc", 1024, 512}})
          .read();
  const std::optional<Fragmentation> lost = fragmentation_at(history.devices[0], 3);
  CHECK(lost->largest_free_bytes == 1024);
  CHECK(lost->inactive_split_bytes == 512);
  CHECK(lost->releasable_bytes == 1024);
}

}  // namespace
}  // namespace headroom::profiler
