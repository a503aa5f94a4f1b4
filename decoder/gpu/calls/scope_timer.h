#pragma once

#include <deque>

#include "decoder/gpu/calls/gpu.h"

namespace headroom::gpu {

/// Timestamps on streams. A timestamp is known once its stream has reached it.
class Stamps {
 public:
  enum class Stamp : int64_t {};
  virtual ~Stamps() = default;

  virtual Stamp stamp(Stream stream) = 0;
  virtual bool passed(Stamp stamp) = 0;
  /// Both must have passed.
  virtual double seconds_between(Stamp first, Stamp second) = 0;
  /// Frees a stamp. The caller must not use it again.
  virtual void forget(Stamp stamp) = 0;
};

/// Adds up the time of a GPU's streams by scope. The compute stream gets a stamp only when the scope changes.
class ScopeTimer {
 public:
  explicit ScopeTimer(Stamps& stamps) : stamps_(stamps) {}
  ~ScopeTimer() { drop(); }
  ScopeTimer(const ScopeTimer&) = delete;
  ScopeTimer& operator=(const ScopeTimer&) = delete;

  /// Resets all sums to zero.
  void restart();
  /// Attributes later work on the compute stream to this scope.
  void compute(TimeScope scope);
  /// Call begin_copy() before and end_copy() after a copy on a copy stream. Copies on the compute stream
  /// count in its current scope.
  Stamps::Stamp begin_copy(Stream stream) { return stamps_.stamp(stream); }
  void end_copy(Stream stream, Stamps::Stamp begun);
  /// Seconds by scope since restart(). All work must be done.
  ScopeSeconds seconds();

 private:
  struct Mark {
    Stamps::Stamp at;
    TimeScope scope;  ///< of the work that follows
  };
  struct CopyMark {
    Stamps::Stamp begun, done;
  };
  /// Adds up the intervals that have ended and frees their stamps.
  void settle();
  void drop();
  double& of(TimeScope scope) { return seconds_[static_cast<size_t>(scope)]; }

  Stamps& stamps_;
  std::deque<Mark> marks_;
  std::deque<CopyMark> copies_;
  ScopeSeconds seconds_{};
};

}  // namespace headroom::gpu
