#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "decoder/gpu/calls/gpu.h"
#include "tests/emulated_gpu/accesses.h"

namespace headroom::gpu {

/// Detects data races between streams with vector clocks. Two items of work that access the same bytes, at
/// least one of them writing, must be ordered by their stream or by events.
class Hazards {
 public:
  /// Adds work to a stream. Throws std::logic_error that names both items if conflicting earlier work is not
  /// ordered before it.
  void work(Stream stream, const std::string& name, const std::vector<Access>& accesses);
  Event record(Stream stream);
  void wait(Stream stream, Event event);
  int64_t pairs_ordered_by_events() const { return ordered_by_events_; }

 private:
  using Clock = std::array<int64_t, kStreams>;
  struct Touch {
    int64_t time = 0;  ///< position on its stream; 0 for never
    std::string name{};
  };
  struct Bytes {
    uintptr_t end = 0;
    int writer = -1;
    Touch written{};
    std::array<Touch, kStreams> read{};
  };
  void split(uintptr_t at);
  void order(Stream stream, const std::string& name, int other, const Touch& earlier);

  std::array<Clock, kStreams> clocks_{};
  std::vector<Clock> events_;
  std::map<uintptr_t, Bytes> bytes_;  ///< by start address
  int64_t ordered_by_events_ = 0;
};

}  // namespace headroom::gpu
