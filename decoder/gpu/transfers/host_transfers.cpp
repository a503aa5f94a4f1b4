#include "decoder/gpu/transfers/host_transfers.h"

#include <stdexcept>

namespace headroom {

using gpu::Stream;

template <typename F>
void HostTransfers::for_each_copy(const Block& block, const F& f) const {
  const HostLayout::Buffer& buffer = layout_.tensors.at(block.tensor);
  if (block.bytes > buffer.block_bytes)
    throw std::logic_error("a block is larger than its buffer in host memory has it");
  memory_.for_each_part(buffer.offset + block.position * buffer.block_bytes, block.bytes,
                        [&](std::byte* there, int64_t first, int64_t bytes) {
                          f(there, static_cast<std::byte*>(block.memory) + first, bytes);
                        });
}

BlockTransfers::Ticket HostTransfers::queue_write(const std::vector<Block>& blocks) {
  gpu_.wait(Stream::to_host, gpu_.record(Stream::compute));
  for (const Block& block : blocks) {
    // In a decode other waits cover this one: the compute stream waits for each read in the band that needs
    // it, and a place in host memory is written in a later pass than the last one that reads it.
    wait_on(Stream::to_host, block.position == 0 ? last_read_ : copied(block).read);
    for_each_copy(block, [&](std::byte* there, const std::byte* here, int64_t bytes) {
      gpu_.copy(Stream::to_host, there, here, bytes);
    });
    written_bytes_ += block.bytes;
  }
  const Ticket ticket = done(Stream::to_host);
  for (const Block& block : blocks) copied(block).written = ticket;
  return ticket;
}

BlockTransfers::Ticket HostTransfers::queue_read(const std::vector<Block>& blocks) {
  // The GPU memory may be reused: work of an earlier band may still read its old content.
  gpu_.wait(Stream::from_host, gpu_.record(Stream::compute));
  for (const Block& block : blocks) {
    // In a decode other waits cover this one: the compute stream waits for a pass's writes before the next
    // pass begins.
    wait_on(Stream::from_host, copied(block).written);
    for_each_copy(block, [&](const std::byte* there, std::byte* here, int64_t bytes) {
      gpu_.copy(Stream::from_host, here, there, bytes);
    });
    read_bytes_ += block.bytes;
  }
  const Ticket ticket = done(Stream::from_host);
  for (const Block& block : blocks) copied(block).read = ticket;
  return last_read_ = ticket;
}

void HostTransfers::wait(Ticket ticket) {
  wait_on(Stream::compute, ticket);
}

void HostTransfers::abandon() noexcept {
  try {
    for (Stream stream : {Stream::to_host, Stream::from_host}) gpu_.wait_on_host(gpu_.record(stream));
  } catch (...) {
    // The caller that queued the copy has already reported the error.
  }
}

BlockTransfers::Ticket HostTransfers::done(Stream stream) {
  events_.push_back(gpu_.record(stream));
  return static_cast<Ticket>(events_.size());
}

void HostTransfers::wait_on(Stream stream, Ticket ticket) {
  if (ticket != kNever) gpu_.wait(stream, events_[static_cast<size_t>(ticket) - 1]);
}

}  // namespace headroom
