#pragma once

#include <stdexcept>
#include <utility>

#include "decoder/files/picture_sink.h"

namespace headroom::python {

/// A picture in a GPU's memory, which the decode writes there itself.
class DeviceSink final : public PictureSink {
 public:
  DeviceSink(const PictureShape& shape, DeviceArray picture)
      : PictureSink(shape), picture_(std::move(picture)) {}

  const DeviceArray* on_device() const override { return &picture_; }

 private:
  void put(int64_t, const Region&, const float*) override {
    throw std::logic_error("pixels on the host for a picture on a GPU");
  }
  void complete() override {}

  const DeviceArray picture_;
};

}  // namespace headroom::python
