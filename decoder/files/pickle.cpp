#include "decoder/files/pickle.h"

#include <bit>

#include "decoder/base/errors.h"
#include "decoder/base/os/open_file.h"
#include "decoder/files/pickle_machine.h"

namespace headroom {

using pickle_detail::Arena;
using pickle_detail::Call;
using pickle_detail::Node;

const char* text_of(PickleKind kind) {
  switch (kind) {
    case PickleKind::none:
      return "None";
    case PickleKind::boolean:
      return "a boolean";
    case PickleKind::integer:
      return "an integer";
    case PickleKind::large_integer:
      return "an integer beyond 64 bits";
    case PickleKind::real:
      return "a float";
    case PickleKind::text:
      return "a string";
    case PickleKind::bytes:
      return "bytes";
    case PickleKind::tuple:
      return "a tuple";
    case PickleKind::list:
      return "a list";
    case PickleKind::set:
      return "a set";
    case PickleKind::dict:
      return "a dict";
    case PickleKind::global:
      return "a name of a module";
    case PickleKind::call:
      return "a call";
    case PickleKind::persistent:
      return "a persistent id";
  }
  return "";
}

std::optional<bool> PickleValue::boolean() const {
  if (kind() != PickleKind::boolean) return std::nullopt;
  return node().value != 0;
}

std::optional<int64_t> PickleValue::integer() const {
  if (kind() != PickleKind::integer) return std::nullopt;
  return static_cast<int64_t>(node().value);
}

std::optional<double> PickleValue::real() const {
  if (kind() != PickleKind::real) return std::nullopt;
  return std::bit_cast<double>(node().value);
}

std::optional<std::string_view> PickleValue::text() const {
  if (kind() != PickleKind::text) return std::nullopt;
  return arena_->bytes.substr(node().value, node().count);
}

std::optional<std::string_view> PickleValue::bytes() const {
  if (kind() != PickleKind::bytes && kind() != PickleKind::large_integer) return std::nullopt;
  return arena_->bytes.substr(node().value, node().count);
}

const Call* PickleValue::call() const {
  return kind() == PickleKind::call ? &arena_->calls[node().value] : nullptr;
}

std::span<const uint32_t> PickleValue::items() const {
  switch (kind()) {
    case PickleKind::call:
      return PickleValue(*arena_, call()->list).items();
    case PickleKind::tuple:
    case PickleKind::list:
    case PickleKind::set:
      return std::span(arena_->items.data(), arena_->items.size()).subspan(node().value, node().count);
    default:
      return {};
  }
}

std::span<const uint32_t> PickleValue::pair_items() const {
  if (const Call* made = call()) return PickleValue(*arena_, made->dict).pair_items();
  if (kind() != PickleKind::dict) return {};
  return std::span(arena_->items.data(), arena_->items.size()).subspan(node().value, node().count);
}

std::optional<PickleValue> PickleValue::find(std::string_view wanted) const {
  for (size_t pair = pairs(); pair > 0; --pair) {
    if (key(pair - 1).text() == wanted) return value(pair - 1);
  }
  return std::nullopt;
}

std::string PickleValue::name() const {
  // A callee may itself be a call, such as getattr(). Its result has no name here.
  const PickleValue named = kind() == PickleKind::call ? callee() : *this;
  if (named.kind() != PickleKind::global) return "";
  const std::span<const uint32_t> parts =
      std::span(arena_->items.data(), arena_->items.size()).subspan(named.node().value, 2);
  return std::string(*PickleValue(*arena_, parts[0]).text()) + "." +
         std::string(*PickleValue(*arena_, parts[1]).text());
}

PickleValue PickleValue::callee() const {
  return {*arena_, call() != nullptr ? call()->callee : 0};
}
PickleValue PickleValue::arguments() const {
  return {*arena_, call() != nullptr ? call()->arguments : 0};
}
PickleValue PickleValue::keywords() const {
  return {*arena_, call() != nullptr ? call()->keywords : 0};
}
PickleValue PickleValue::state() const {
  return {*arena_, call() != nullptr ? call()->state : 0};
}
PickleValue PickleValue::reference() const {
  return {*arena_, kind() == PickleKind::persistent ? static_cast<uint32_t>(node().value) : 0};
}

Pickle Pickle::parse(std::string bytes, const std::string& origin) {
  Pickle pickle;
  pickle.arena_ = std::make_unique<Arena>();
  pickle.arena_->given = std::move(bytes);
  pickle.arena_->bytes = pickle.arena_->given;
  pickle.run(origin, {});
  return pickle;
}

Pickle Pickle::read(const std::filesystem::path& file) {
  const ReadOnlyFile opened(file);
  PickleMachine::check_size(static_cast<uint64_t>(opened.bytes()), opened.origin());
  const auto bytes = static_cast<size_t>(opened.bytes());
  Pickle pickle;
  pickle.arena_ = std::make_unique<Arena>();
  pickle.arena_->read = std::make_unique_for_overwrite<char[]>(bytes);
  char* const first = pickle.arena_->read.get();
  pickle.arena_->bytes = {first, bytes};
  pickle.run(opened.origin(), [&](size_t at, size_t count) {
    opened.read_at(static_cast<int64_t>(at), first + at, static_cast<int64_t>(count));
  });
  return pickle;
}

void Pickle::run(const std::string& origin, const PickleMachine::Reader& reader) {
  PickleMachine machine(*arena_, origin, reader);
  root_ = machine.run();
  end_ = machine.position();
}

namespace {

using pickle_detail::Call;
using pickle_detail::Node;

// Memory snapshots of PyTorch need less than twice their size.
constexpr uint64_t kMostMemoryForByte = 3;
constexpr uint64_t kAlwaysMemory = 48 << 20;

}  // namespace

uint64_t pickle_detail::held(const Arena& arena) {
  return arena.nodes.size() * sizeof(Node) + arena.items.size() * sizeof(uint32_t) +
         arena.calls.size() * sizeof(Call);
}

uint64_t PickleMachine::held_bytes() const {
  return pickle_detail::held(arena_) + marks_.size() * sizeof(size_t) +
         (stack_.size() + memo_.size()) * sizeof(uint32_t) + batches_.size() * sizeof(Batch);
}

void PickleMachine::check_memory(uint64_t more) const {
  if (held_bytes() + more <= kAlwaysMemory + kMostMemoryForByte * at_) return;
  throw InputError(origin_ + ": byte " + std::to_string(opcode_) +
                   ": expected a pickle whose values take at most " + std::to_string(kMostMemoryForByte) +
                   " times its bytes in memory, found more");
}

void PickleMachine::put(uint64_t index) {
  // Picklers number memo entries from 0, so an index is always below the byte count.
  if (index >= arena_.bytes.size()) {
    fail("a memo index below " + std::to_string(arena_.bytes.size()), std::to_string(index));
  }
  if (index >= memo_.size()) {
    check_memory((index + 1 - memo_.size()) * sizeof(uint32_t));
    memo_.resize(index + 1);
  }
  if (memo_[index] == 0) ++memo_count_;
  memo_[index] = top("a value for the memo") + 1;
}

void PickleMachine::get(uint64_t index) {
  if (index >= memo_.size() || memo_[index] == 0) {
    fail("a memo index that was put", std::to_string(index));
  }
  push(memo_[index] - 1);
}

bool PickleMachine::memo(unsigned char opcode) {
  switch (opcode) {
    case 'q':
      put(little_endian(1));
      return true;
    case 'r':
      put(little_endian(4));
      return true;
    case 0x94:
      put(memo_count_);
      return true;
    case 'h':
      get(little_endian(1));
      return true;
    case 'j':
      get(little_endian(4));
      return true;
    default:
      return false;
  }
}

}  // namespace headroom
