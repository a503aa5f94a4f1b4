#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include "decoder/files/pickle.h"

namespace headroom {

/// Interprets a pickle's instructions into an arena. It works like Python's unpickler, with the same stack,
/// but a call becomes a value that describes the call.
class PickleMachine {
 public:
  /// Reads `count` bytes at offset `at` into the same offset of the arena's bytes.
  using Reader = std::function<void(size_t at, size_t count)>;

  /// Interprets the arena's bytes, which must not change. `reader` loads bytes on demand. Without a reader,
  /// all bytes must already be loaded.
  PickleMachine(pickle_detail::Arena& arena, const std::string& origin, Reader reader);

  /// Runs to STOP and returns the node of the result. Throws InputError.
  uint32_t run();
  size_t position() const { return at_; }

  /// Throws InputError if a pickle of this size could have more values than 32-bit indices can address.
  static void check_size(uint64_t bytes, const std::string& origin);

 private:
  /// Some items of a growing container. Items arrive in batches, interleaved with the items of other
  /// containers.
  struct Batch {
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t next = 0;
  };

  [[noreturn]] void fail(const std::string& expected, const std::string& found) const;

  uint64_t held_bytes() const;
  /// Throws InputError if `more` bytes would exceed the memory limit for the bytes read so far.
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

  // Instruction groups. Each function returns false if the opcode is not in its group.
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
  size_t loaded_ = 0;  ///< bytes loaded so far
  size_t at_ = 0;      ///< offset of the next byte
  size_t opcode_ = 0;  ///< offset of the current instruction
  GrowingArray<uint32_t> stack_;
  GrowingArray<size_t> marks_;
  GrowingArray<uint32_t> memo_;  ///< node index + 1; 0: never stored
  size_t memo_count_ = 0;
  GrowingArray<Batch> batches_;  ///< linked lists; a container's value holds its first and last index
  uint32_t none_ = 0, true_ = 0, false_ = 0;
  std::array<uint32_t, 256> small_integers_{};  ///< one shared node each, as in Python; 0: not created yet
};

}  // namespace headroom
