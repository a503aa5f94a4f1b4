#pragma once

#include <unistd.h>

#include <utility>

namespace headroom {

/// A file descriptor that is closed with this; below 0 where none was opened.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }
  /// Whoever takes it closes it.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace headroom
