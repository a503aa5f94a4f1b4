#pragma once

#include "decoder/cpu/threads.h"
#include "decoder/interpreter/device.h"

namespace headroom {

/// Reports the progress of a call, or of a part of it, while all threads work on it. Work is split evenly, so
/// only the calling thread reports, and its own progress stands for all. This needs no synchronisation.
class ToldShare {
 public:
  ToldShare() = default;
  /// `told` may be empty. It must outlive this object.
  explicit ToldShare(const Device::CallShare& told) : told_(told ? &told : nullptr) {}

  /// Call on any thread, between pieces of work. `share` is the progress of this part, 0 to 1.
  void done(double share) const {
    if (told_ != nullptr && thread_number() == 0) (*told_)(begin_ + length_ * share);
  }
  /// Progress of part `number` of `of` equal parts.
  ToldShare part(int64_t number, int64_t of) const {
    ToldShare one = *this;
    one.length_ = length_ / double(of);
    one.begin_ = begin_ + one.length_ * double(number);
    return one;
  }

 private:
  const Device::CallShare* told_ = nullptr;
  double begin_ = 0, length_ = 1;
};

}  // namespace headroom
