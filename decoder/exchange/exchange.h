#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/base/errors.h"

// Data exchange between the ranks of one decode. The interface hides how ranks find each other and how bytes
// travel: torch.distributed's c10d, a caller's process group, or threads of one process in tests.
//
//     rank 0   rows 0 to 16   |  own rows of every kept tensor  |
//                             |  ... and some of rank 1's, below them   |   <- received
//     rank 1   rows 16 to 32  |  ... and some of rank 0's, above them   |   <- received
//                             |  own rows                               |
namespace headroom {

/// Another rank did not answer in time, has ended, or is incompatible with this one. The message names that
/// rank. Programs end with exit code 5.
class ExchangeError : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

/// Bytes to send, or to receive into. They must stay valid until wait() has returned.
struct Span {
  void* data = nullptr;
  int64_t bytes = 0;
};

/// A message to or from one rank. The peer's spans have the same sizes, in the same order.
struct Message {
  int32_t peer = 0;
  std::vector<Span> spans;
  bool on_device = false;  ///< spans lie in GPU memory, on both ranks
};
int64_t bytes_of(const Message& message);

/// One rank's connection to the others. All ranks call the same functions in the same order. Messages between
/// two ranks arrive in the order in which they were posted. Functions throw ExchangeError naming the rank
/// that did not answer, at the latest when it has shown no sign of work for the group's timeout. Only one
/// thread at a time may use it.
class Exchange {
 public:
  using Ticket = int64_t;

  virtual ~Exchange() = default;
  virtual int32_t rank() const = 0;
  virtual int32_t size() const = 0;
  /// True if messages may lie in this rank's GPU memory. Otherwise all messages lie in host memory.
  virtual bool takes_device_memory() const { return false; }

  /// One ticket for each message.
  struct Posted {
    std::vector<Ticket> sends, receives;
  };
  /// Begins to send and to receive, and returns at once. A rank with no messages need not call it.
  virtual Posted post(const std::vector<Message>& sends, const std::vector<Message>& receives) = 0;
  /// Blocks until the whole message has been sent or received. Wait once for each ticket, in any order.
  virtual void wait(Ticket ticket) = 0;
  /// Returns the values of every rank, in rank order. All ranks must pass the same number of values.
  virtual std::vector<std::vector<double>> gather(const std::vector<double>& own) = 0;
  /// Reports progress, as every other call also does, so that ranks waiting for this one do not time out.
  /// Call it about once a step; it is cheap. CPU work is detected without this call, GPU work is not.
  virtual void working() noexcept {}
  /// Tells the others in one line that this rank ends with an error, so that they stop waiting for it. The
  /// exchange no longer touches any span afterwards.
  virtual void abandon(const char* why) noexcept = 0;
  /// Stops touching spans, because an error is about to free their memory. Code further up reports the error
  /// with abandon().
  virtual void drop() noexcept { abandon("it stopped during a transfer"); }

  /// Bytes that this rank has sent: messages, and gathered values once for each other rank.
  int64_t sent_bytes() const { return sent_bytes_; }

 protected:
  void count_sent(int64_t bytes) { sent_bytes_ += bytes; }

 private:
  int64_t sent_bytes_ = 0;
};

/// Returns the texts of all ranks at rank 0, in rank order, and an empty vector on other ranks. All ranks
/// must call it. Texts may have any length and bytes. They travel through gather(), because messages may
/// have to lie in GPU memory. Each rank sends its text to all others in small pieces.
std::vector<std::string> gather_texts(Exchange& exchange, const std::string& own);

/// A value that must be equal on all ranks.
struct Agreed {
  std::string what;   ///< name for messages: "plan", "latent", "weights"
  std::string value;  ///< compared in full: a version, a file's bytes, or a fingerprint
  std::string shown;  ///< shown if ranks differ: a file's name, a version; may be empty
};

/// Checks that all ranks have the same values. If one differs from rank 0, throws ExchangeError on all
/// ranks: "rank 1 has another plan than rank 0: a.json rather than b.json". Headroom's versions are compared
/// first. All ranks must call it with the same things in the same order, before any other exchange.
void agree(Exchange& exchange, const std::vector<Agreed>& things);

}  // namespace headroom
