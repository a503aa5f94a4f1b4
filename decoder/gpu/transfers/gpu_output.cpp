#include "decoder/gpu/transfers/gpu_output.h"

#include <algorithm>

#include "decoder/gpu/calls/plain_view.h"
#include "decoder/gpu/transfers/device_arrays.h"
#include "decoder/interpreter/pixels.h"

namespace headroom {
namespace {

std::function<void()> stopping(const std::string& layer) {
  return [layer] { stop_not_finite(layer); };
}

}  // namespace

GpuOutput::~GpuOutput() {
  if (awaited_.empty()) return;
  try {
    gpu_.wait_on_host(awaited_.back().over);
  } catch (...) {
    // The error that ended the decode is already reported.
  }
}

void GpuOutput::emit(const gpu::View& source, int64_t item, const Region& region, const std::string& layer,
                     PictureSink& sink) {
  if (const DeviceArray* picture = sink.on_device()) {
    sink.wrote(item, region);
    return run_checked(gpu::EmitPlanes{source, box_of(region), shift_, planes_of(*picture, item), nullptr},
                       stopping(layer));
  }
  const PixelFormat format = sink.format();
  const int64_t most = OutputStaging::kBytes / bytes_per_value(format) / source.channels;  // positions
  const int64_t columns = std::min(most, region.x.length()), rows = std::max<int64_t>(1, most / columns);
  for (int64_t t = region.t.begin; t < region.t.end; ++t) {
    for (int64_t y = region.y.begin; y < region.y.end; y += rows) {
      for (int64_t x = region.x.begin; x < region.x.end; x += columns) {
        const Region part{
            {t, t + 1}, {y, std::min(region.y.end, y + rows)}, {x, std::min(region.x.end, x + columns)}};
        emit_piece(source, layer, {&sink, item, part, format, nullptr});
      }
    }
  }
}

void GpuOutput::emit_piece(const gpu::View& source, const std::string& layer, PictureWriter::Piece piece) {
  std::byte* const pixels = free_buffer();
  uint32_t* const not_finite = free_flag();
  gpu_.run(gpu::Emit{source, box_of(piece.region), piece.format, shift_, pixels, not_finite});
  piece.pixels = pixels;
  await(not_finite, stopping(layer), piece);
}

void GpuOutput::check_finite(const double* values, int64_t count, const std::string& layer) {
  run_checked(gpu::CheckFinite{values, count, nullptr}, stopping(layer));
}

void GpuOutput::finish() {
  while (!awaited_.empty()) take_next();
  wait_for_writer(0);
}

void GpuOutput::await(const uint32_t* not_finite, std::function<void()> stop,
                      std::optional<PictureWriter::Piece> piece) {
  awaited_.push_back({gpu_.record(gpu::Stream::compute), not_finite, std::move(stop), piece});
}

void GpuOutput::poll() {
  while (!awaited_.empty() && gpu_.happened(awaited_.front().over)) take_next();
}

void GpuOutput::take_next() {
  gpu_.wait_on_host(awaited_.front().over);
  const Awaited come = std::move(awaited_.front());
  awaited_.pop_front();
  const volatile uint32_t& not_finite = *come.not_finite;
  if (not_finite != 0) come.stop();
  if (come.piece) writer_.give(*come.piece);
}

int64_t GpuOutput::pieces_awaited() const {
  return std::count_if(awaited_.begin(), awaited_.end(),
                       [](const Awaited& awaited) { return awaited.piece.has_value(); });
}

void GpuOutput::wait_for_writer(int64_t most_left) {
  const auto begun = std::chrono::steady_clock::now();
  writer_.wait_until_left(most_left);
  if (awaited_.empty()) waited_ += std::chrono::steady_clock::now() - begun;
}

/// Buffers are used in turn. The next one is free once fewer than kBuffers pieces are in flight.
std::byte* GpuOutput::free_buffer() {
  poll();
  // The writer runs concurrently, so its count is read once per round. If it is 0, the GPU still has pieces.
  for (int64_t left = writer_.left(); pieces_awaited() + left >= OutputStaging::kBuffers;
       left = writer_.left()) {
    if (left > 0) {
      wait_for_writer(left - 1);
    } else {
      take_next();
    }
    poll();
  }
  return staging_.buffer(buffers_used_++);
}

/// Returns a cleared flag. Its previous value has been checked.
uint32_t* GpuOutput::free_flag() {
  while (static_cast<int64_t>(awaited_.size()) >= OutputStaging::kFlags) take_next();
  uint32_t* const flag = staging_.flag(flags_used_++);
  *flag = 0;
  return flag;
}

namespace {

void write(const PictureWriter::Piece& piece) {
  if (piece.format == PixelFormat::fp32) {
    piece.sink->write(piece.item, piece.region, reinterpret_cast<const float*>(piece.pixels));
  } else {
    piece.sink->write_bytes(piece.item, piece.region, reinterpret_cast<const uint8_t*>(piece.pixels));
  }
}

}  // namespace

PictureWriter::~PictureWriter() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PictureWriter::give(const Piece& piece) {
  {
    const std::lock_guard lock(mutex_);
    if (failed_) std::rethrow_exception(failed_);
    pieces_.push_back(piece);
  }
  changed_.notify_all();
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

int64_t PictureWriter::left() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(pieces_.size());
}

void PictureWriter::wait_until_left(int64_t most) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return static_cast<int64_t>(pieces_.size()) <= most; });
  if (failed_) std::rethrow_exception(failed_);
}

void PictureWriter::run() {
  std::unique_lock lock(mutex_);
  while (!failed_) {
    changed_.wait(lock, [&] { return ends_ || !pieces_.empty(); });
    if (ends_) return;
    const Piece piece = pieces_.front();
    lock.unlock();
    std::exception_ptr failed;
    try {
      write(piece);
    } catch (...) {
      failed = std::current_exception();
    }
    lock.lock();
    failed_ = failed;
    pieces_.erase(pieces_.begin(), failed ? pieces_.end() : pieces_.begin() + 1);
    changed_.notify_all();
  }
}

}  // namespace headroom
