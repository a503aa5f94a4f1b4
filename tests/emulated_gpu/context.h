#pragma once

#include <cstddef>
#include <memory>

// Switches between fibers. Assembly does this on x86-64. ThreadSanitizer and other processors use setjmp()
// and longjmp(), because ThreadSanitizer only follows C library calls. These are four times as slow, and
// forty times under AddressSanitizer, which queries the signal stack at each longjmp().
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define HEADROOM_SWITCHES_STACKS
#else
#include <ucontext.h>
#include <csetjmp>
#endif
#if defined(__SANITIZE_ADDRESS__)  // GCC
#define HEADROOM_TELLS_OF_STACKS
#elif defined(__has_feature)  // Clang
#if __has_feature(address_sanitizer)
#define HEADROOM_TELLS_OF_STACKS
#endif
#endif
#if defined(HEADROOM_TELLS_OF_STACKS)
#include <sanitizer/common_interface_defs.h>
#endif

namespace headroom::emulated {

/// A fiber, with its own stack or the caller's.
class Context {
 public:
  Context() = default;
  /// Prepares a fiber that runs `entry`. `entry` never returns.
  explicit Context(void (*entry)());

  /// Resumes `other`. Returns when another fiber switches back. Does not save signal masks, so that a
  /// switch takes only nanoseconds.
  void switch_to(Context& other) {
#if defined(HEADROOM_TELLS_OF_STACKS)
    void* own = nullptr;
    other.from_ = this;
    __sanitizer_start_switch_fiber(&own, other.bottom_, other.bytes_);
#endif
    leave_for(other);
#if defined(HEADROOM_TELLS_OF_STACKS)
    arrive(own);
#endif
  }
  /// Completes the first switch to this context. `entry` calls it first.
  void begin() {
    arrive(nullptr);
  }

 private:
  void leave_for(Context& other);
#if defined(HEADROOM_TELLS_OF_STACKS)
  void arrive(void* own) {
    __sanitizer_finish_switch_fiber(own, &from_->bottom_, &from_->bytes_);
  }
#else
  void arrive(void*) {}
#endif

  std::unique_ptr<std::byte[]> stack_;
#if defined(HEADROOM_SWITCHES_STACKS)
  void* top_ = nullptr;  ///< top of the stack while the fiber is suspended
#else
  bool started_ = false;
  ucontext_t start_{};
  jmp_buf stopped_{};
#endif
#if defined(HEADROOM_TELLS_OF_STACKS)
  Context* from_ = nullptr;
  const void* bottom_ = nullptr;
  size_t bytes_ = 0;
#endif
};

}  // namespace headroom::emulated
