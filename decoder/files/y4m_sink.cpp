#include "decoder/files/file_sinks.h"

#include <string>
#include <string_view>

#include "decoder/files/picture_sink.h"

namespace headroom {
namespace {

constexpr int64_t kRunPixels = 32 * 1024;
constexpr int64_t kMostChannels = 3;
constexpr EightBitFormat kY4mFormat{"Y4M", false};
constexpr std::string_view kFrameHeader = "FRAME\n";

/// File header for progressive frames with square pixels.
std::string header(const PictureShape& shape, const FrameRate& rate) {
  return "YUV4MPEG2 W" + std::to_string(shape.columns) + " H" + std::to_string(shape.rows) + " F" +
         std::to_string(rate.frames) + ":" + std::to_string(rate.seconds) + " Ip A1:1 " +
         (shape.channels == 1 ? "Cmono XCOLORRANGE=FULL\n" : "C444 XCOLORRANGE=LIMITED\n");
}

}  // namespace

Y4mSink::Y4mSink(const std::filesystem::path& path, const PictureShape& shape, const FrameRate& rate,
                 Begins begins)
    : EightBitSink(require_eight_bit_shape(shape, path, kY4mFormat)),
      plane_bytes_(shape.rows * shape.columns),
      frame_bytes_(static_cast<int64_t>(kFrameHeader.size()) + shape.channels * plane_bytes_),
      interleaved_(kRunPixels * kMostChannels),
      planes_(kRunPixels * kMostChannels) {
  const std::string start = begins == Begins::yes ? header(shape, rate) : "";
  frames_begin_ = static_cast<int64_t>(start.size());
  for (int64_t item = 0; item < shape.items; ++item) {
    PartialFile& file = files_.emplace_back(path_of_item(path, item, shape.items));
    file.reserve(frames_begin_ + shape.frames * frame_bytes_);
    file.write_at(0, start.data(), frames_begin_);
  }
}

void Y4mSink::check(const std::filesystem::path& path, const PictureShape& shape) {
  require_eight_bit_shape(shape, path, kY4mFormat);
}

int64_t Y4mSink::buffered_bytes() {
  return 2 * kRunPixels * kMostChannels;
}

void Y4mSink::take(int64_t item, const Region& region, const EightBitPixels& pixels) {
  const int64_t frame_values = region.y.length() * region.x.length() * shape().channels;
  for (int64_t frame = region.t.begin; frame < region.t.end; ++frame) {
    put_frame(files_[static_cast<size_t>(item)], frame, region,
              pixels.from((frame - region.t.begin) * frame_values));
  }
}

void Y4mSink::put_frame(PartialFile& file, int64_t frame, const Region& region,
                        const EightBitPixels& pixels) {
  const int64_t channels = shape().channels;
  const int64_t frame_begin = frames_begin_ + frame * frame_bytes_;
  const auto header_bytes = static_cast<int64_t>(kFrameHeader.size());
  // Write the frame's header with its first pixel, which arrives exactly once.
  if (region.y.begin == 0 && region.x.begin == 0)
    file.write_at(frame_begin, kFrameHeader.data(), header_bytes);
  for_each_run(region, shape().columns, kRunPixels, [&](const Run& run) {
    pixels.take(run.source * channels, run.count * channels, interleaved_.data());
    const uint8_t* planes = interleaved_.data();
    if (channels == 3) {
      rgb_to_bt709(interleaved_.data(), run.count, planes_.data(), planes_.data() + run.count,
                   planes_.data() + 2 * run.count);
      planes = planes_.data();
    }
    for (int64_t plane = 0; plane < channels; ++plane) {
      file.write_at(frame_begin + header_bytes + plane * plane_bytes_ + run.target,
                    planes + plane * run.count, run.count);
    }
  });
}

void Y4mSink::complete() {
  for (PartialFile& file : files_) file.commit();
}

namespace {

// With R, G, B from 0 to 255 and L = 0.2126 R + 0.7152 G + 0.0722 B:
//   Y = 16 + 219 L / 255,  Cb = 128 + 224 (B - L) / (1.8556 * 255),  Cr = 128 + 224 (R - L) / (1.5748 * 255).
// Written as ratios, these have integers below 2^31, so the rounding is exact.
constexpr int32_t kLuma = 10000 * 255, kBlue = 18556 * 255, kRed = 15748 * 255;

/// Returns numerator / denominator + offset, rounded. Inputs from RGB bytes never give a negative result.
uint8_t rounded(int32_t numerator, int32_t denominator, int32_t offset) {
  return static_cast<uint8_t>((numerator + denominator / 2 + offset * denominator) / denominator);
}

}  // namespace

void rgb_to_bt709(const uint8_t* rgb, int64_t count, uint8_t* y, uint8_t* cb, uint8_t* cr) {
  for (int64_t i = 0; i < count; ++i, rgb += 3) {
    const int32_t red = rgb[0], green = rgb[1], blue = rgb[2];
    y[i] = rounded(219 * (2126 * red + 7152 * green + 722 * blue), kLuma, 16);
    cb[i] = rounded(224 * (9278 * blue - 2126 * red - 7152 * green), kBlue, 128);
    cr[i] = rounded(224 * (7874 * red - 7152 * green - 722 * blue), kRed, 128);
  }
}

}  // namespace headroom
