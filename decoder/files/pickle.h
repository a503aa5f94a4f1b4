#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/files/growing_array.h"

namespace headroom {

enum class PickleKind : uint8_t {
  none,
  boolean,
  integer,        ///< fits 64 bits
  large_integer,  ///< does not: its little-endian two's complement is bytes()
  real,
  text,
  bytes,
  tuple,
  list,
  set,
  dict,
  global,      ///< something of a module, by name: "collections.OrderedDict". Nothing was imported.
  call,        ///< what a call of `callee()` with `arguments()` would make. Nothing was called.
  persistent,  ///< something outside the pickle, named by `reference()`
};

/// "a list", for messages.
const char* text_of(PickleKind kind);

namespace pickle_detail {

/// 16 bytes for each value, since snapshots have tens of millions of them.
struct Node {
  uint64_t value = 0;  ///< the number; first byte or item; index of a call
  uint32_t count = 0;  ///< bytes or items
  PickleKind kind = PickleKind::none;
};

struct Call {
  uint32_t callee = 0;
  uint32_t arguments = 0;
  uint32_t keywords = 0;  ///< of nodes, 0 (None) where there are none
  uint32_t state = 0;
  uint32_t list = 0;  ///< what was appended to the object
  uint32_t dict = 0;  ///< and set in it
};

/// Storage of all values of a pickle. Node 0 is None.
struct Arena {
  std::string_view bytes;  ///< in one of the next two
  std::string given;
  std::unique_ptr<char[]> read;  ///< those of a file, as far as they were read
  GrowingArray<Node> nodes;
  GrowingArray<uint32_t> items;  ///< of nodes; those of one container together
  GrowingArray<Call> calls;
};

uint64_t held(const Arena& arena);  ///< bytes that its values take

}  // namespace pickle_detail

/// One value of a pickle: an index into its arena. Several values may hold the same one, or themselves, so
/// who walks down without knowing how deep must count.
class PickleValue {
 public:
  PickleValue(const pickle_detail::Arena& arena, uint32_t index) : arena_(&arena), index_(index) {}

  PickleKind kind() const { return node().kind; }
  uint32_t index() const { return index_; }  ///< the same for the same object
  bool is_none() const { return kind() == PickleKind::none; }

  std::optional<bool> boolean() const;
  std::optional<int64_t> integer() const;
  std::optional<double> real() const;
  std::optional<std::string_view> text() const;   ///< UTF-8 as it stands in the file, unchecked
  std::optional<std::string_view> bytes() const;  ///< of `bytes` and `large_integer`

  /// Number of items of a tuple, list or set. For a call, the items appended to its object. Otherwise 0, also
  /// for a dict.
  size_t size() const { return items().size(); }
  PickleValue operator[](size_t item) const { return {*arena_, items()[item]}; }

  /// Number of key-value pairs of a dict. For a call, such as a collections.OrderedDict, the pairs set in its
  /// object.
  size_t pairs() const { return pair_items().size() / 2; }
  PickleValue key(size_t pair) const { return {*arena_, pair_items()[2 * pair]}; }
  PickleValue value(size_t pair) const { return {*arena_, pair_items()[2 * pair + 1]}; }
  /// Value of the last pair whose key is this text, since Python keeps the last one.
  std::optional<PickleValue> find(std::string_view key) const;

  /// "module.name" of a global, or of a call's callee. Otherwise empty.
  std::string name() const;
  PickleValue callee() const;     ///< of a call, else None
  PickleValue arguments() const;  ///< of a call: a tuple; else None
  PickleValue keywords() const;   ///< of a call: a dict or None
  PickleValue state() const;      ///< of a call: what BUILD would hand to __setstate__, or None
  PickleValue reference() const;  ///< of a persistent value, else None

 private:
  const pickle_detail::Node& node() const { return arena_->nodes[index_]; }
  const pickle_detail::Call* call() const;
  std::span<const uint32_t> items() const;
  std::span<const uint32_t> pair_items() const;

  const pickle_detail::Arena* arena_;
  uint32_t index_;
};

/// A Python pickle (protocols 0 to 5) as values, of which nothing was executed: what Python would import or
/// call is a value that says so. It is read in one go over the bytes, without recursion. It takes
/// at most 4 times the bytes that were read and 48 MiB of memory, whatever they claim. What is shared stays
/// shared.
class Pickle {
 public:
  /// The first pickle of `bytes`; `end()` says where it ends. `origin` names the file in messages. Throws
  /// InputError `<origin>: byte <offset>: expected ..., found ...`.
  static Pickle parse(std::string bytes, const std::string& origin);
  /// Reads and parses a file of less than 2 GiB.
  static Pickle read(const std::filesystem::path& file);

  PickleValue root() const { return {*arena_, root_}; }
  size_t end() const { return end_; }                         ///< bytes that belong to it, STOP included
  size_t values() const { return arena_->nodes.size() - 1; }  ///< how many there are
  uint64_t held_bytes() const {
    return pickle_detail::held(*arena_);
  }  ///< that the values take, beside the bytes

 private:
  void run(const std::string& origin, const std::function<void(size_t at, size_t count)>& reader);

  std::unique_ptr<pickle_detail::Arena> arena_;
  uint32_t root_ = 0;
  size_t end_ = 0;
};

}  // namespace headroom
