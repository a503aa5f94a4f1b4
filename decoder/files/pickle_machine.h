#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include "decoder/files/growing_array.h"
#include "decoder/files/pickle.h"

namespace headroom {

/// Reads the instructions of a pickle into an arena, as Python's unpickler would run them on its stack, but a
/// call becomes a value that names it.
class PickleMachine {
 public:
  /// Reads so many bytes from a position on to their place in the arena.
  using Reader = std::function<void(size_t at, size_t count)>;

  /// Runs over the arena's bytes, which must not change. `reader` brings the bytes in as they are needed;
  /// without one all bytes are there.
  PickleMachine(pickle_detail::Arena& arena, const std::string& origin, Reader reader);

  /// The value that STOP finds; throws InputError.
  uint32_t run();
  size_t position() const { return at_; }

  /// Throws InputError where there are more bytes than indices of 32 bits can name.
  static void check_size(uint64_t bytes, const std::string& origin);

 private:
  /// Items of a container while it grows: they come in batches, with those of others in between.
  struct Batch {
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t next = 0;
  };

  [[noreturn]] void fail(const std::string& expected, const std::string& found) const;

  uint64_t held_bytes() const;
  /// Throws InputError where `more` bytes would be too many for those that were read.
  void check_memory(uint64_t more) const;

  // Bytes.
  void load(size_t end);
  uint64_t little_endian(int count);
  std::string_view take(uint64_t count, const char* what);
  std::string_view line(const char* what);
  size_t offset_of(std::string_view view) const {
    return static_cast<size_t>(view.data() - arena_.bytes.data());
  }

  // Values.
  uint32_t add(PickleKind kind, uint64_t value = 0, uint32_t count = 0);
  void push(uint32_t node);
  void push(PickleKind kind, uint64_t value = 0) { push(add(kind, value)); }
  void push_small(uint64_t value);
  void push_view(PickleKind kind, std::string_view view) { push(add_view(kind, view)); }
  uint32_t add_view(PickleKind kind, std::string_view view);
  void push_long(std::string_view bytes);

  // The stack.
  uint32_t pop(const char* what);
  uint32_t top(const char* what) const;
  size_t fence() const { return marks_.empty() ? 0 : marks_.back(); }
  size_t take_mark(const char* what);

  // Instructions, by what they are about; false where an instruction is none of these.
  bool scalar(unsigned char opcode);
  bool text(unsigned char opcode);
  bool container(unsigned char opcode);
  bool growth(unsigned char opcode);
  bool object(unsigned char opcode);
  bool stack(unsigned char opcode);
  bool memo(unsigned char opcode);

  void push_tuple(size_t first);
  uint32_t new_container(PickleKind kind, size_t first);
  void grow(uint32_t target, PickleKind kind, size_t first);
  uint32_t growing(uint32_t target, PickleKind kind);
  void push_call(uint32_t callee, uint32_t arguments, uint32_t keywords);
  void push_global(uint32_t module, uint32_t name);
  void put(uint64_t index);
  void get(uint64_t index);
  void join_batches();

  pickle_detail::Arena& arena_;
  std::string origin_;
  Reader reader_;
  size_t loaded_ = 0;  ///< bytes that are there
  size_t at_ = 0;      ///< the next byte
  size_t opcode_ = 0;  ///< where the instruction began
  GrowingArray<uint32_t> stack_;
  GrowingArray<size_t> marks_;
  GrowingArray<uint32_t> memo_;  ///< nodes + 1; 0 where nothing was put
  size_t memo_count_ = 0;
  GrowingArray<Batch> batches_;  ///< a container's value is the index of its last batch, first ones before it
  uint32_t none_ = 0, true_ = 0, false_ = 0;
  std::array<uint32_t, 256> small_integers_{};  ///< one node for each, as in Python; 0 where none was needed
};

}  // namespace headroom
