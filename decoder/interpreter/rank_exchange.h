#pragma once

#include <functional>
#include <map>
#include <vector>

#include "decoder/exchange/exchange.h"
#include "decoder/interpreter/device.h"
#include "decoder/plan/plan.h"
#include "decoder/schedule/row_readers.h"

namespace headroom {

/// A rank's connection to the other ranks, and the rows to transfer. Both must outlive the decode.
struct RankLink {
  Exchange& exchange;
  const std::vector<RowTransfer>& transfers;
};

/// Exchanges rows and statistics with the other ranks while a rank runs its passes for one micro-batch:
///
///     pass 3 writes x   | post: x's rows to and from the neighbours
///     pass 4, band 0    | reads rows above its own: waits until they are there
///             band 1    | ... computes while rows below are on their way
///             last band | waits for these
///             end       | x leaves: waits until its rows have been sent
///
/// Rows in device memory are staged in host memory if the exchange does not accept device memory.
class RankExchange {
 public:
  using ViewOf = std::function<const MapView&(TensorId)>;

  /// `link` is null for single-rank plans, which exchange nothing.
  RankExchange(const Graph& graph, const Plan& plan, const Sizes& sizes, Device& device, const RankLink* link,
               ViewOf view_of);
  ~RankExchange();
  RankExchange(const RankExchange&) = delete;
  RankExchange& operator=(const RankExchange&) = delete;

  /// Call before each step. Reports progress, so that ranks waiting for this one do not time out.
  void working() const {
    if (link_ != nullptr) link_->exchange.working();
  }
  /// Waits for transfers of tensors that this pass overwrites in place.
  void begin_pass(size_t pass);
  /// Waits until the rows that the band reads have arrived.
  void begin_band(size_t band);
  /// Call after a band. Waits until the rows that no later band reads have been sent.
  void end_band(size_t band);
  /// Waits for all transfers of tensors that no later pass reads.
  void before_release();
  /// Merges the statistics of the pass over all ranks. Throws InputError naming the layer if they are not
  /// finite. Every rank throws the same error.
  void merge_statistics();
  /// Call after a pass, while its outputs are still in memory. Starts sending rows that other ranks read.
  void end_pass();

 private:
  struct Pending {
    Exchange::Ticket ticket = 0;
    bool received = false;
    std::vector<const RowTransfer*> transfers{};
    std::vector<Span> rows{};         ///< on the device
    std::vector<std::byte> staged{};  ///< their copy in host memory, if staged
  };
  const Pass& pass() const { return plan_.passes[pass_]; }
  bool leaves(TensorId tensor) const;
  void post(bool upwards);
  std::vector<Span> spans_of(const RowTransfer& transfer) const;
  Message message_to(int32_t peer, Pending& pending);
  void wait(Pending& pending);
  /// Waits for every pending message with a transfer for which `needed` returns true.
  void wait_for(const std::function<bool(const Pending&, const RowTransfer&)>& needed);

  const Graph& graph_;
  const Plan& plan_;
  const Sizes sizes_;
  Device& device_;
  const RankLink* link_;
  HostCopies* const copies_;  ///< null if the exchange accepts the spans directly
  const ViewOf view_of_;
  std::vector<Pending> pending_;
  std::map<TensorId, RowReaders> readers_;  ///< in the current pass, for tensors in transfer
  size_t pass_ = 0;
};

}  // namespace headroom
