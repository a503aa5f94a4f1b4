#pragma once

#include "decoder/cpu/threads.h"
#include "decoder/interpreter/device.h"

namespace headroom {

/// Tells how much of a call is done, or of a part of it, while all threads work on it. Only the thread that
/// made the call tells: work is shared out evenly, so that how far it is with its own share stands for all,
/// and no thread waits for another or writes to what another reads.
class ToldShare {
 public:
  ToldShare() = default;
  /// `told` may be empty; it outlives this.
  explicit ToldShare(const Device::CallShare& told) : told_(told ? &told : nullptr) {}

  /// On any thread, between pieces of work; `share` is of this part, 0 to 1.
  void done(double share) const {
    if (told_ != nullptr && thread_number() == 0) (*told_)(begin_ + length_ * share);
  }
  /// Part `number` of so many alike.
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
