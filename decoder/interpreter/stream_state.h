#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/interpreter/device.h"

namespace headroom {

/// The state of a stream as bytes, in this machine's byte order. The same code writes and reads a state: it
/// moves each value in a fixed order, whose sizes follow from the plan and from the frames so far.
class StreamState {
 public:
  StreamState() = default;  ///< writes
  explicit StreamState(std::span<const std::byte> from) : from_(from), reads_(true) {}
  /// Reads nothing: memory of the state is allocated, and gets no values.
  static StreamState without_values() {
    StreamState state;
    state.reads_ = true;
    state.has_values_ = false;
    return state;
  }

  bool reads() const { return reads_; }
  /// Throws InputError if a state that is read has no more bytes.
  void move(void* values, int64_t bytes) {
    const auto count = static_cast<size_t>(bytes);
    if (count == 0) return;  // `values` may be null
    if (!reads_) {
      const auto* first = static_cast<const std::byte*>(values);
      written_.insert(written_.end(), first, first + count);
    } else {
      if (from_.size() < count) throw wrong("ends too early");
      std::memcpy(values, from_.data(), count);
      from_ = from_.subspan(count);
    }
  }
  /// Moves values in the device's memory.
  void move(Device& device, void* values, int64_t bytes) {
    if (!has_values_) return;
    HostCopies* const copies = device.host_copies();
    if (copies == nullptr) return move(values, bytes);
    std::vector<std::byte> on_host(static_cast<size_t>(bytes));
    if (!reads_) copies->to_host({{values, bytes}}, on_host.data());
    move(on_host.data(), bytes);
    if (reads_) copies->to_device(on_host.data(), {{values, bytes}});
  }
  void move(int64_t& number) { move(&number, sizeof number); }
  void require_end() const {
    if (!from_.empty()) throw wrong("has " + std::to_string(from_.size()) + " bytes too many");
  }
  static InputError wrong(const std::string& what) {
    return InputError("state: " + what + "; expected what state() of a stream returned");
  }
  const std::vector<std::byte>& written() const { return written_; }

 private:
  std::vector<std::byte> written_;
  std::span<const std::byte> from_;
  bool reads_ = false, has_values_ = true;
};

}  // namespace headroom
