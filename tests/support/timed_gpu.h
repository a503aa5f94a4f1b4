#pragma once

#include <functional>
#include <utility>
#include <variant>

#include "tests/support/forwarding_gpu.h"

namespace headroom::test {

/// A GPU with a simulated clock. Only calls and transfers advance it, each by an invented time.
class TimedGpu final : public ForwardingGpu {
 public:
  using Cost = std::function<double(const gpu::Call&)>;
  TimedGpu(gpu::Gpu& gpu, Cost cost) : ForwardingGpu(gpu), cost_(std::move(cost)) {}

  void run(const gpu::Call& call) override {
    gpu_.run(call);
    seconds_ += cost_(call);
  }
  void copy(gpu::Stream stream, void* to, const void* from, int64_t bytes) override {
    gpu_.copy(stream, to, from, bytes);
    if (stream != gpu::Stream::compute) seconds_ += double(bytes) / bytes_per_second(stream);
  }

  double seconds() const { return seconds_; }
  std::function<double()> clock() const {
    return [this] { return seconds_; };
  }
  static double bytes_per_second(gpu::Stream stream) { return stream == gpu::Stream::to_host ? 20e9 : 30e9; }

 private:
  const Cost cost_;
  double seconds_ = 0;
};

constexpr double kMadeUpCall = 1e-3, kMadeUpValue = 1e-6;

/// An invented time for each kind of call: a constant, plus a time per output value or per product. Calls
/// that only serve tile edges, or run once per pass, take next to nothing.
inline double made_up_seconds(const gpu::Call& call) {
  const auto positions = [](const gpu::Box& box) {
    return double(box.t.end - box.t.begin) * double(box.y.end - box.y.begin) *
           double(box.x.end - box.x.begin);
  };
  const double kind = 1 + double(call.index());
  const double work = std::visit(
      [&](const auto& c) {
        using T = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<T, gpu::Attend>) {
          gpu::Box frame = c.keys.region;
          frame.t = {0, 1};
          gpu::Box queries = c.queries.region;
          queries.t = {0, 1};
          return positions(queries) * positions(frame) * c.values.channels / 256;
        } else if constexpr (std::is_same_v<T, gpu::Convolve>) {
          return positions(c.region) * c.shape.inputs * c.shape.outputs / c.shape.groups / 32;
        } else if constexpr (requires { c.target.region; }) {
          return positions(c.target.region) * c.target.channels;
        } else if constexpr (requires { c.source.channels; }) {
          return positions(c.region) * c.source.channels;
        } else if constexpr (requires { c.chunk; }) {
          return positions(c.region) * c.chunk.channels;
        } else {
          return 0.0;
        }
      },
      call);
  return work > 0 ? kMadeUpCall * kind + kMadeUpValue * kind * work : 1e-6;
}

}  // namespace headroom::test
