#include "tests/emulated_gpu/context.h"

#include <cstdint>

#if defined(HEADROOM_SWITCHES_STACKS)
extern "C" void headroom_switch_stacks(void** left, void* taken);

// Pushes the callee-saved registers (System V ABI, AMD64) onto the current stack, and stores the stack
// pointer in *left. Then switches to the stack `taken`, pops its registers and returns there.
asm(R"(
  .text
  .p2align 4
  .globl headroom_switch_stacks
  .type headroom_switch_stacks, @function
headroom_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size headroom_switch_stacks, .-headroom_switch_stacks
)");
#endif

namespace headroom::emulated {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;

}  // namespace

Context::Context(void (*entry)()) : stack_(std::make_unique_for_overwrite<std::byte[]>(kStackBytes)) {
#if defined(HEADROOM_SWITCHES_STACKS)
  const uintptr_t end = (reinterpret_cast<uintptr_t>(stack_.get()) + kStackBytes) / 16 * 16;
  auto* slot = reinterpret_cast<uintptr_t*>(end);
  *--slot = 0;  // return address of `entry`; also sets the alignment that a call leaves
  *--slot = reinterpret_cast<uintptr_t>(entry);
  for (int preserved = 0; preserved < 6; ++preserved) *--slot = 0;
  top_ = slot;
#else
  getcontext(&start_);
  start_.uc_stack.ss_sp = stack_.get();
  start_.uc_stack.ss_size = kStackBytes;
  start_.uc_link = nullptr;
  makecontext(&start_, entry, 0);
#endif
#if defined(HEADROOM_TELLS_OF_STACKS)
  bottom_ = stack_.get();
  bytes_ = kStackBytes;
#endif
}

#if defined(HEADROOM_SWITCHES_STACKS)
void Context::leave_for(Context& other) {
  headroom_switch_stacks(&top_, other.top_);
}
#else
void Context::leave_for(Context& other) {
  if (_setjmp(stopped_) != 0) return;
  if (other.stack_ != nullptr && !other.started_) {
    other.started_ = true;
    setcontext(&other.start_);
  }
  _longjmp(other.stopped_, 1);
}
#endif

}  // namespace headroom::emulated
