#pragma once

#include <deque>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/calls/time_scopes.h"

namespace headroom::gpu {

/// Points in time of a stream, which are known once the stream has come to them.
class Stamps {
 public:
  enum class Stamp : int64_t {};
  virtual ~Stamps() = default;

  virtual Stamp stamp(Stream stream) = 0;
  virtual bool passed(Stamp stamp) = 0;
  /// Both must have passed.
  virtual double seconds_between(Stamp first, Stamp second) = 0;
  /// It will not be asked for again.
  virtual void forget(Stamp stamp) = 0;
};

/// Adds up the time of a GPU's streams by what it goes to. The compute stream gets a stamp only where one
/// kind of work follows another.
class ScopeTimer {
 public:
  explicit ScopeTimer(Stamps& stamps) : stamps_(stamps) {}
  ~ScopeTimer() { drop(); }
  ScopeTimer(const ScopeTimer&) = delete;
  ScopeTimer& operator=(const ScopeTimer&) = delete;

  /// Forgets what was timed, and begins.
  void restart();
  /// Later work on the compute stream counts in this scope.
  void compute(TimeScope scope);
  /// Around a copy on a stream of copies; the compute stream's own are part of its work.
  Stamps::Stamp begin_copy(Stream stream) { return stamps_.stamp(stream); }
  void end_copy(Stream stream, Stamps::Stamp begun);
  /// Seconds by scope since restart(). All work must be done.
  ScopeSeconds seconds();

 private:
  struct Mark {
    Stamps::Stamp at;
    TimeScope scope;  ///< of what follows
  };
  struct CopyMark {
    Stamps::Stamp begun, done;
  };
  /// Adds up what is over.
  void settle();
  void drop();
  double& of(TimeScope scope) { return seconds_[static_cast<size_t>(scope)]; }

  Stamps& stamps_;
  std::deque<Mark> marks_;
  std::deque<CopyMark> copies_;
  ScopeSeconds seconds_{};
};

}  // namespace headroom::gpu
