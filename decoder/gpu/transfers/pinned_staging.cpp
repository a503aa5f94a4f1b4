#include "decoder/gpu/transfers/pinned_staging.h"

#include <algorithm>
#include <cstring>

namespace headroom {
namespace {

std::byte* begin_of(const Span& span) {
  return static_cast<std::byte*>(span.data);
}

/// Merges adjacent spans and splits them at the end of a staging buffer. Returns one list per filled buffer,
/// in order.
std::vector<std::vector<Span>> by_buffer(const std::vector<Span>& spans) {
  std::vector<std::vector<Span>> buffers;
  int64_t room = 0;
  for (const Span& span : spans) {
    for (int64_t first = 0; first < span.bytes;) {
      if (room == 0) {
        buffers.emplace_back();
        room = PinnedStaging::kBytes;
      }
      std::vector<Span>& buffer = buffers.back();
      std::byte* const begin = begin_of(span) + first;
      const int64_t bytes = std::min(room, span.bytes - first);
      if (!buffer.empty() && begin_of(buffer.back()) + buffer.back().bytes == begin) {
        buffer.back().bytes += bytes;
      } else {
        buffer.push_back({begin, bytes});
      }
      room -= bytes;
      first += bytes;
    }
  }
  return buffers;
}

}  // namespace

void StagedCopies::to_host(const std::vector<Span>& from, std::byte* to) {
  for (const std::vector<Span>& buffer : by_buffer(from)) {
    std::byte* const through = staging_.next();
    int64_t bytes = 0;
    for (const Span& span : buffer) {
      staging_.gpu().copy(gpu::Stream::compute, through + bytes, span.data, span.bytes);
      bytes += span.bytes;
    }
    staging_.gpu().wait_on_host(staging_.used());
    std::memcpy(to, through, static_cast<size_t>(bytes));
    to += bytes;
  }
}

void StagedCopies::to_device(const std::byte* from, const std::vector<Span>& to) {
  for (const std::vector<Span>& buffer : by_buffer(to)) {
    std::byte* through = staging_.next();
    for (const Span& span : buffer) {
      std::memcpy(through, from, static_cast<size_t>(span.bytes));
      staging_.gpu().copy(gpu::Stream::compute, span.data, through, span.bytes);
      through += span.bytes;
      from += span.bytes;
    }
    staging_.used();
  }
}

}  // namespace headroom
