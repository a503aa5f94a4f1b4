#pragma once

#include <cstdint>
#include <vector>

#include "decoder/graph/errors.h"

// What ranks of one decode hand to one another. Who they are, how they found each other and how bytes travel
// is behind this interface: torch.distributed's c10d, a caller's process group, or threads of one process in
// tests.
//
//     rank 0   rows 0 to 16   |  own rows of every kept tensor  |
//                             |  ... and some of rank 1's, below them   |   <- received
//     rank 1   rows 16 to 32  |  ... and some of rank 0's, above them   |   <- received
//                             |  own rows                               |
namespace headroom {

/// Another rank did not answer in time, has ended, or is not one that this one can decode with. The message
/// names it. Programs end with exit code 5.
class ExchangeError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// Bytes that are sent or filled. They must stay where they are until the exchange has been waited for.
struct Span {
  void* data = nullptr;
  int64_t bytes = 0;
};

/// What goes to one rank, or comes from it. The other side has spans of as many bytes, one by one.
struct Message {
  int32_t peer = 0;
  std::vector<Span> spans;
  bool on_device = false;  ///< the spans lie in the memory of this rank's GPU, here and on the other side
};
int64_t bytes_of(const Message& message);

/// One rank's way to the others. Ranks call the same functions in the same order; between two of them
/// messages arrive in the order in which they were posted. Functions throw ExchangeError naming the rank that
/// did not answer, at the latest when it has shown no sign of work for the timeout of the group. Of one
/// thread at a time.
class Exchange {
 public:
  using Ticket = int64_t;

  virtual ~Exchange() = default;
  virtual int32_t rank() const = 0;
  virtual int32_t size() const = 0;
  /// Whether messages may lie in the memory of this rank's GPU. All others lie in the host's.
  virtual bool takes_device_memory() const { return false; }

  /// One ticket for each message.
  struct Posted {
    std::vector<Ticket> sends, receives;
  };
  /// Begins to send and to receive, and returns at once. Who exchanges with nobody need not post.
  virtual Posted post(const std::vector<Message>& sends, const std::vector<Message>& receives) = 0;
  /// Until all of it has been sent or received. Each ticket once, in any order.
  virtual void wait(Ticket ticket) = 0;
  /// The values of every rank, in the order of ranks. All of them have as many.
  virtual std::vector<std::vector<double>> gather(const std::vector<double>& own) = 0;
  /// Says that this rank gets on, as every other call does too: those who wait for it wait on. For calls in
  /// between, say once a step; it costs next to nothing. Work of the processor is noticed without it, a
  /// device's is not.
  virtual void working() noexcept {}
  /// Tells the others that this rank ends here with an error, in one line, so that they need not wait for it.
  /// Afterwards spans are touched no longer.
  virtual void abandon(const char* why) noexcept = 0;
  /// Only the latter, where memory goes because of an error that somebody else will abandon() the others
  /// with.
  virtual void drop() noexcept { abandon("it stopped while bytes were on their way"); }

  /// Bytes that this rank has sent: of messages and, to each other rank, of gathered values.
  int64_t sent_bytes() const { return sent_bytes_; }

 protected:
  void count_sent(int64_t bytes) { sent_bytes_ += bytes; }

 private:
  int64_t sent_bytes_ = 0;
};

}  // namespace headroom
