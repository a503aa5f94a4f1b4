#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace headroom {

/// A vector of trivially copyable values for very large arrays. It grows with realloc(). std::vector would
/// hold the old and the new values at once. Throws std::bad_alloc.
template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* data() const { return values_.get(); }
  T* data() { return values_.get(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T& operator[](size_t i) const { return data()[i]; }
  T& operator[](size_t i) { return data()[i]; }
  const T& back() const { return data()[size_ - 1]; }

  void push_back(T value) {
    make_room(1);
    data()[size_++] = value;
  }
  void pop_back() { --size_; }
  /// Appends `count` values from `first` on, which must not lie in this array.
  void append(const T* first, size_t count) {
    if (count == 0) return;
    make_room(count);
    std::memcpy(end(), first, count * sizeof(T));
    size_ += count;
  }
  void resize(size_t size) {
    if (size > size_) {
      make_room(size - size_);
      std::uninitialized_value_construct_n(end(), size - size_);
    }
    size_ = size;
  }

 private:
  struct Free {
    void operator()(T* values) const { std::free(values); }
  };

  void make_room(size_t more) {
    if (capacity_ - size_ >= more) return;
    const size_t capacity = capacity_ + (more > capacity_ ? more : capacity_);
    void* grown = std::realloc(values_.get(), capacity * sizeof(T));
    if (grown == nullptr) throw std::bad_alloc();
    static_cast<void>(values_.release());
    values_.reset(static_cast<T*>(grown));
    capacity_ = capacity;
  }

  std::unique_ptr<T, Free> values_;
  size_t size_ = 0, capacity_ = 0;
};

enum class PickleKind : uint8_t {
  none,
  boolean,
  integer,        ///< fits 64 bits
  large_integer,  ///< does not fit; bytes() has its little-endian two's complement
  real,
  text,
  bytes,
  tuple,
  list,
  set,
  dict,
  global,      ///< a name in a module, "collections.OrderedDict". Nothing is imported.
  call,        ///< result of calling `callee()` with `arguments()`. Nothing is called.
  persistent,  ///< an object outside the pickle, identified by `reference()`
};

/// "a list", for messages.
const char* text_of(PickleKind kind);

namespace pickle_detail {

/// Kept at 16 bytes, because PyTorch memory snapshots have tens of millions of values.
struct Node {
  uint64_t value = 0;  ///< a number, the index of the first byte or item, or the index of a call
  uint32_t count = 0;  ///< number of bytes or items
  PickleKind kind = PickleKind::none;
};

struct Call {
  uint32_t callee = 0;
  uint32_t arguments = 0;
  uint32_t keywords = 0;  ///< 0 (None) if there are none
  uint32_t state = 0;
  uint32_t list = 0;  ///< items appended to the object
  uint32_t dict = 0;  ///< pairs set in the object
};

/// Storage of all values of a pickle. Node 0 is None.
struct Arena {
  std::string_view bytes;  ///< points into `given` or `read`
  std::string given;
  std::unique_ptr<char[]> read;  ///< bytes of a file; only the part read so far is valid
  GrowingArray<Node> nodes;
  GrowingArray<uint32_t> items;  ///< node indices; the items of one container are contiguous
  GrowingArray<Call> calls;
};

uint64_t held(const Arena& arena);  ///< memory of the values in bytes

}  // namespace pickle_detail

/// One value of a pickle, as an index into its arena. Values may be shared, and containers may contain
/// themselves. Code that descends must limit its depth.
class PickleValue {
 public:
  PickleValue(const pickle_detail::Arena& arena, uint32_t index) : arena_(&arena), index_(index) {}

  PickleKind kind() const { return node().kind; }
  uint32_t index() const { return index_; }  ///< equal for the same object
  bool is_none() const { return kind() == PickleKind::none; }

  std::optional<bool> boolean() const;
  std::optional<int64_t> integer() const;
  std::optional<double> real() const;
  std::optional<std::string_view> text() const;   ///< UTF-8 as stored, not validated
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
  /// Value of the last pair with this key. Python also keeps the last one.
  std::optional<PickleValue> find(std::string_view key) const;

  /// "module.name" of a global, or of a call's callee. Otherwise empty.
  std::string name() const;
  PickleValue callee() const;     ///< of a call, else None
  PickleValue arguments() const;  ///< of a call: a tuple; else None
  PickleValue keywords() const;   ///< of a call: a dict or None
  PickleValue state() const;      ///< of a call: the argument of __setstate__, or None
  PickleValue reference() const;  ///< of a persistent value, else None

 private:
  const pickle_detail::Node& node() const { return arena_->nodes[index_]; }
  const pickle_detail::Call* call() const;
  std::span<const uint32_t> items() const;
  std::span<const uint32_t> pair_items() const;

  const pickle_detail::Arena* arena_;
  uint32_t index_;
};

/// A parsed Python pickle (protocols 0 to 5). Nothing is executed: imports and calls become values that name
/// them. The parser makes one pass over the bytes, without recursion. Memory stays below 4 times the bytes
/// read plus 48 MiB, whatever the pickle contains. Shared objects stay shared.
class Pickle {
 public:
  /// Parses the first pickle in `bytes`; end() returns where it ends. `origin` names the file in messages.
  /// Throws InputError `<origin>: byte <offset>: expected ..., found ...`.
  static Pickle parse(std::string bytes, const std::string& origin);
  /// Reads and parses a file of less than 2 GiB.
  static Pickle read(const std::filesystem::path& file);

  PickleValue root() const { return {*arena_, root_}; }
  size_t end() const { return end_; }                         ///< length in bytes, including STOP
  size_t values() const { return arena_->nodes.size() - 1; }  ///< number of values
  uint64_t held_bytes() const {
    return pickle_detail::held(*arena_);
  }  ///< memory of the values, without the bytes of the pickle

 private:
  void run(const std::string& origin, const std::function<void(size_t at, size_t count)>& reader);

  std::unique_ptr<pickle_detail::Arena> arena_;
  uint32_t root_ = 0;
  size_t end_ = 0;
};

}  // namespace headroom
