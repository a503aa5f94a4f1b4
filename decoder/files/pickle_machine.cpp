#include "decoder/files/pickle_machine.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

using pickle_detail::Arena;
using pickle_detail::Call;
using pickle_detail::Node;

// Two values per byte still fit 32-bit indices.
constexpr uint64_t kMostBytes = std::numeric_limits<uint32_t>::max() / 2;
constexpr size_t kLongestName = 1000;
constexpr uint32_t kNoBatch = std::numeric_limits<uint32_t>::max();

std::string hexadecimal(unsigned char byte) {
  constexpr const char* kDigits = "0123456789abcdef";
  return std::string("0x") + kDigits[byte >> 4] + kDigits[byte & 15];
}

bool grows(PickleKind kind) {
  return kind == PickleKind::list || kind == PickleKind::set || kind == PickleKind::dict;
}

uint64_t batches_value(uint32_t first, uint32_t last) {
  return uint64_t{first} << 32 | last;
}
uint32_t first_batch(const Node& node) {
  return static_cast<uint32_t>(node.value >> 32);
}
uint32_t last_batch(const Node& node) {
  return static_cast<uint32_t>(node.value);
}

}  // namespace

PickleMachine::PickleMachine(Arena& arena, const std::string& origin, Reader reader)
    : arena_(arena), origin_(origin), reader_(std::move(reader)), loaded_(reader_ ? 0 : arena.bytes.size()) {
  check_size(arena.bytes.size(), origin);
  none_ = add(PickleKind::none);
  true_ = add(PickleKind::boolean, 1);
  false_ = add(PickleKind::boolean, 0);
}

void PickleMachine::check_size(uint64_t bytes, const std::string& origin) {
  if (bytes > kMostBytes) {
    throw InputError(origin + ": expected a pickle of less than 2 GiB, found " + std::to_string(bytes) +
                     " bytes");
  }
}

uint32_t PickleMachine::run() {
  for (;;) {
    opcode_ = at_;
    check_memory(0);
    const auto opcode = static_cast<unsigned char>(take(1, "an instruction")[0]);
    if (opcode == '.') break;
    const bool known = scalar(opcode) || text(opcode) || container(opcode) || growth(opcode) ||
                       object(opcode) || stack(opcode) || memo(opcode);
    if (!known) fail("an instruction of a pickle", "byte " + hexadecimal(opcode));
  }
  const uint32_t result = pop("a value before the end");
  join_batches();
  return result;
}

void PickleMachine::fail(const std::string& expected, const std::string& found) const {
  throw InputError(origin_ + ": this pickle is damaged or cut off: byte " + std::to_string(opcode_) +
                   ": expected " + expected + ", found " + found);
}

// ---- bytes

/// Loads all bytes before `end`, which must not exceed the file's size.
void PickleMachine::load(size_t end) {
  constexpr size_t kPartBytes = size_t{1} << 20;
  if (end <= loaded_) return;
  const size_t until = std::min(arena_.bytes.size(), std::max(end, loaded_ + kPartBytes));
  reader_(loaded_, until - loaded_);
  loaded_ = until;
}

std::string_view PickleMachine::take(uint64_t count, const char* what) {
  const uint64_t left = arena_.bytes.size() - at_;
  if (count > left) {
    if (left == 0 && count == 1) fail(what, "the end of the file");
    fail(std::to_string(count) + " bytes of " + what, std::to_string(left) + " before the end of the file");
  }
  load(at_ + count);
  const std::string_view taken = arena_.bytes.substr(at_, count);
  at_ += count;
  return taken;
}

std::string_view PickleMachine::line(const char* what) {
  size_t searched = at_, end = std::string_view::npos;
  for (;;) {
    end = arena_.bytes.substr(0, loaded_).find('\n', searched);
    if (end != std::string_view::npos) break;
    if (loaded_ == arena_.bytes.size())
      fail(std::string("a line with ") + what, "none before the end of the file");
    searched = loaded_;
    load(loaded_ + 1);
  }
  const std::string_view found = arena_.bytes.substr(at_, end - at_);
  at_ = end + 1;
  return found;
}

uint64_t PickleMachine::little_endian(int count) {
  const std::string_view bytes = take(static_cast<uint64_t>(count), "a number");
  uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[static_cast<size_t>(i)]);
  }
  return value;
}

// ---- values

uint32_t PickleMachine::add(PickleKind kind, uint64_t value, uint32_t count) {
  const size_t index = arena_.nodes.size();
  if (index == kNoBatch) fail("fewer than 2^32 values", "another");
  arena_.nodes.push_back({value, count, kind});
  return static_cast<uint32_t>(index);
}

void PickleMachine::push(uint32_t node) {
  stack_.push_back(node);
}

void PickleMachine::push_small(uint64_t value) {
  uint32_t& node = small_integers_[value];
  if (node == 0) node = add(PickleKind::integer, value);
  push(node);
}

uint32_t PickleMachine::add_view(PickleKind kind, std::string_view view) {
  return add(kind, offset_of(view), static_cast<uint32_t>(view.size()));
}

void PickleMachine::push_long(std::string_view bytes) {
  if (bytes.size() > 8) return push_view(PickleKind::large_integer, bytes);
  uint64_t value = !bytes.empty() && (bytes.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
  for (size_t i = bytes.size(); i > 0; --i) value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  push(PickleKind::integer, value);
}

bool PickleMachine::scalar(unsigned char opcode) {
  switch (opcode) {
    case 'N':
      push(none_);
      return true;
    case 0x88:
      push(true_);
      return true;
    case 0x89:
      push(false_);
      return true;
    case 'J':
      push(PickleKind::integer, static_cast<uint64_t>(int64_t{static_cast<int32_t>(little_endian(4))}));
      return true;
    case 'K':
      push_small(little_endian(1));
      return true;
    case 'M':
      push(PickleKind::integer, little_endian(2));
      return true;
    case 0x8a:
      push_long(take(little_endian(1), "an integer"));
      return true;
    case 0x8b:
      push_long(take(little_endian(4), "an integer"));
      return true;
    case 'G':
      push(PickleKind::real, __builtin_bswap64(little_endian(8)));
      return true;
    default:
      return false;
  }
}

bool PickleMachine::text(unsigned char opcode) {
  const char* kText = "a string";
  const char* kBytes = "bytes";
  switch (opcode) {
    case 'U':
      push_view(PickleKind::text, take(little_endian(1), kText));
      return true;
    case 'T':
      push_view(PickleKind::text, take(little_endian(4), kText));
      return true;
    case 0x8c:
      push_view(PickleKind::text, take(little_endian(1), kText));
      return true;
    case 'X':
      push_view(PickleKind::text, take(little_endian(4), kText));
      return true;
    case 0x8d:
      push_view(PickleKind::text, take(little_endian(8), kText));
      return true;
    case 'C':
      push_view(PickleKind::bytes, take(little_endian(1), kBytes));
      return true;
    case 'B':
      push_view(PickleKind::bytes, take(little_endian(4), kBytes));
      return true;
    case 0x8e:
    case 0x96:
      push_view(PickleKind::bytes, take(little_endian(8), kBytes));
      return true;
    default:
      return false;
  }
}

// ---- the stack

uint32_t PickleMachine::top(const char* what) const {
  if (stack_.size() <= fence()) fail(what, "nothing on the stack");
  return stack_.back();
}

uint32_t PickleMachine::pop(const char* what) {
  const uint32_t node = top(what);
  stack_.pop_back();
  return node;
}

size_t PickleMachine::take_mark(const char* what) {
  if (marks_.empty()) fail(std::string("a mark before ") + what, "none");
  const size_t first = marks_.back();
  marks_.pop_back();
  return first;
}

bool PickleMachine::stack(unsigned char opcode) {
  switch (opcode) {
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case '0':
      if (stack_.size() == fence() && !marks_.empty()) {
        marks_.pop_back();
      } else {
        pop("a value to drop");
      }
      return true;
    case '1':
      stack_.resize(take_mark("dropped values"));
      return true;
    case '2':
      push(top("a value to repeat"));
      return true;
    case 0x80: {
      const uint64_t protocol = little_endian(1);
      if (protocol < 2 || protocol > 5) fail("protocol 2 to 5", std::to_string(protocol));
      return true;
    }
    case 0x95: {
      // Frames only matter to readers of streams. Just check that the length is not beyond the end.
      const uint64_t bytes = little_endian(8);
      const uint64_t left = arena_.bytes.size() - at_;
      if (bytes > left)
        fail("a frame of " + std::to_string(bytes) + " bytes",
             std::to_string(left) + " before the end of the file");
      return true;
    }
    default:
      return false;
  }
}

// ---- containers

void PickleMachine::push_tuple(size_t first) {
  const size_t count = stack_.size() - first;
  const uint32_t node = add(PickleKind::tuple, arena_.items.size(), static_cast<uint32_t>(count));
  arena_.items.append(stack_.data() + first, stack_.size() - first);
  stack_.resize(first);
  push(node);
}

/// Pops the stack entries from `first` on and pushes a container with them.
uint32_t PickleMachine::new_container(PickleKind kind, size_t first) {
  const uint32_t node = add(kind, batches_value(kNoBatch, kNoBatch));
  grow(node, kind, first);
  push(node);
  return node;
}

bool PickleMachine::container(unsigned char opcode) {
  const auto last = [&](size_t count) {
    if (stack_.size() < fence() + count) fail(std::to_string(count) + " values for a tuple", "fewer");
    push_tuple(stack_.size() - count);
    return true;
  };
  switch (opcode) {
    case ')':
      return last(0);
    case 0x85:
      return last(1);
    case 0x86:
      return last(2);
    case 0x87:
      return last(3);
    case 't':
      push_tuple(take_mark("a tuple's items"));
      return true;
    case ']':
      new_container(PickleKind::list, stack_.size());
      return true;
    case '}':
      new_container(PickleKind::dict, stack_.size());
      return true;
    case 0x8f:
      new_container(PickleKind::set, stack_.size());
      return true;
    case 0x91:
      new_container(PickleKind::set, take_mark("a set's items"));
      return true;
    default:
      return false;
  }
}

/// Container to which items of `kind` are added: `target` itself, or the list or dict of a call's object.
uint32_t PickleMachine::growing(uint32_t target, PickleKind kind) {
  const Node node = arena_.nodes[target];
  if (node.kind == kind) return target;
  if (node.kind != PickleKind::call || kind == PickleKind::set) fail(text_of(kind), text_of(node.kind));
  uint32_t Call::*part = kind == PickleKind::dict ? &Call::dict : &Call::list;
  if (arena_.calls[node.value].*part == 0) {
    const uint32_t made = add(kind, batches_value(kNoBatch, kNoBatch));
    arena_.calls[node.value].*part = made;
  }
  return arena_.calls[node.value].*part;
}

/// Moves the stack entries from `first` on to the end of `target`.
void PickleMachine::grow(uint32_t target, PickleKind kind, size_t first) {
  const size_t count = stack_.size() - first;
  if (kind == PickleKind::dict && count % 2 != 0) fail("a value for each key of a dict", "a key without one");
  if (count == 0) return;
  Node& node = arena_.nodes[target];
  if (node.count + uint64_t{count} > kNoBatch || arena_.items.size() + count > kNoBatch) {
    fail("fewer than 2^32 items", "more");
  }
  const uint32_t last = last_batch(node);
  if (last != kNoBatch && batches_[last].first + batches_[last].count == arena_.items.size()) {
    batches_[last].count += static_cast<uint32_t>(count);
  } else {
    const auto made = static_cast<uint32_t>(batches_.size());
    batches_.push_back({static_cast<uint32_t>(arena_.items.size()), static_cast<uint32_t>(count), kNoBatch});
    if (last != kNoBatch) batches_[last].next = made;
    node.value = batches_value(last == kNoBatch ? made : first_batch(node), made);
  }
  node.count += static_cast<uint32_t>(count);
  arena_.items.append(stack_.data() + first, stack_.size() - first);
  stack_.resize(first);
}

bool PickleMachine::growth(unsigned char opcode) {
  const auto last = [&](PickleKind kind, size_t count) {
    if (stack_.size() < fence() + count + 1)
      fail(std::string(text_of(kind)) + " and its new values", "fewer values");
    const size_t first = stack_.size() - count;
    grow(growing(stack_[first - 1], kind), kind, first);
    return true;
  };
  const auto marked = [&](PickleKind kind) {
    const size_t first = take_mark("a container's new values");
    if (first <= fence()) fail(text_of(kind), "nothing on the stack");
    grow(growing(stack_[first - 1], kind), kind, first);
    return true;
  };
  switch (opcode) {
    case 'a':
      return last(PickleKind::list, 1);
    case 's':
      return last(PickleKind::dict, 2);
    case 'e':
      return marked(PickleKind::list);
    case 'u':
      return marked(PickleKind::dict);
    case 0x90:
      return marked(PickleKind::set);
    default:
      return false;
  }
}

void PickleMachine::join_batches() {
  for (Node& node : arena_.nodes) {
    if (!grows(node.kind)) continue;
    uint32_t batch = first_batch(node);
    if (batch == kNoBatch || batch == last_batch(node)) {
      node.value = batch == kNoBatch ? 0 : batches_[batch].first;
      continue;
    }
    node.value = arena_.items.size();
    for (; batch != kNoBatch; batch = batches_[batch].next) {
      const Batch from = batches_[batch];
      check_memory(from.count * sizeof(uint32_t));
      const size_t end = arena_.items.size();
      arena_.items.resize(end + from.count);
      std::memcpy(arena_.items.data() + end, arena_.items.data() + from.first, from.count * sizeof(uint32_t));
    }
  }
}

// ---- objects

void PickleMachine::push_call(uint32_t callee, uint32_t arguments, uint32_t keywords) {
  if (arena_.nodes[arguments].kind != PickleKind::tuple) {
    fail("a tuple of arguments", text_of(arena_.nodes[arguments].kind));
  }
  push(PickleKind::call, arena_.calls.size());
  arena_.calls.push_back({callee, arguments, keywords, none_, 0, 0});
}

void PickleMachine::push_global(uint32_t module, uint32_t name) {
  for (const uint32_t part : {module, name}) {
    const Node& node = arena_.nodes[part];
    if (node.kind != PickleKind::text)
      fail("the name of a module and of something in it", text_of(node.kind));
    // Limit the length, because callers build these names repeatedly.
    if (node.count > kLongestName)
      fail("a name of at most 1000 bytes", std::to_string(node.count) + " bytes");
  }
  push(PickleKind::global, arena_.items.size());
  arena_.items.push_back(module);
  arena_.items.push_back(name);
}

bool PickleMachine::object(unsigned char opcode) {
  switch (opcode) {
    case 'c': {
      const uint32_t module = add_view(PickleKind::text, line("the name of a module"));
      const uint32_t name = add_view(PickleKind::text, line("a name"));
      push_global(module, name);
      return true;
    }
    case 0x93: {
      const uint32_t name = pop("a name");
      push_global(pop("the name of a module"), name);
      return true;
    }
    case 'R':
    case 0x81: {
      const uint32_t arguments = pop("arguments");
      push_call(pop("something to call"), arguments, none_);
      return true;
    }
    case 0x92: {
      const uint32_t keywords = pop("keywords");
      const uint32_t arguments = pop("arguments");
      push_call(pop("something to call"), arguments, keywords);
      return true;
    }
    case 'b': {
      const uint32_t state = pop("a state");
      const Node& made = arena_.nodes[top("an object for the state")];
      if (made.kind != PickleKind::call) fail("an object for the state", text_of(made.kind));
      arena_.calls[made.value].state = state;
      return true;
    }
    case 'Q': {
      const uint32_t reference = pop("a persistent id");
      push(PickleKind::persistent, reference);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace headroom
