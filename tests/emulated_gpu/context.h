#pragma once

#include <cstddef>
#include <memory>

// Takes one line of execution up where it was left, and leaves another. ThreadSanitizer follows only what the
// C library does, and other processors have other registers: there it is setjmp() and longjmp(). They are
// four times as slow, and forty times under the address sanitizer, which asks the system about signals at
// each longjmp().
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

/// One line of execution, on a stack of its own or on that of the caller.
class Context {
 public:
  Context() = default;
  /// Will run `entry`, which never returns.
  explicit Context(void (*entry)());

  /// Goes on with `other`; returns when something switches back. Signal masks are left alone, which makes it
  /// a matter of nanoseconds.
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
  void* top_ = nullptr;  ///< of the stack while it is left
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
