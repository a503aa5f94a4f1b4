#pragma once

#include <utility>

namespace headroom {

/// Owns a file descriptor and closes it. A negative number means that no file is open.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  int number() const { return number_; }
  /// Gives up ownership: the caller closes the descriptor.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace headroom
