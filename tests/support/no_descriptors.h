#pragma once

#include <sys/resource.h>

namespace headroom::test {

/// Exhausts file descriptors during its lifetime: every attempt to open a file fails with EMFILE.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

/// True if `f` throws an Error while no file descriptors are available. The check itself opens none.
template <typename Error, typename F>
bool throws_without_descriptors(const F& f) {
  const NoDescriptors none;
  try {
    f();
  } catch (const Error&) {
    return true;
  } catch (...) {
  }
  return false;
}

}  // namespace headroom::test
