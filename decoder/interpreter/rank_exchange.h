#pragma once

#include <functional>
#include <map>
#include <vector>

#include "decoder/exchange/exchange.h"
#include "decoder/interpreter/device.h"
#include "decoder/lowering/row_readers.h"
#include "decoder/plan/ranked_plan.h"

namespace headroom {

/// A rank's way to the others, and what goes there. Both must outlive the decode.
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
/// Rows that lie in a device's memory go through the host's where the exchange does not take the device's.
class RankExchange {
 public:
  using ViewOf = std::function<const MapView&(TensorId)>;

  /// `link` is null where the plan is for one rank alone; then nothing is exchanged.
  RankExchange(const Graph& graph, const Plan& plan, const Sizes& sizes, Device& device, const RankLink* link,
               ViewOf view_of);
  ~RankExchange();
  RankExchange(const RankExchange&) = delete;
  RankExchange& operator=(const RankExchange&) = delete;

  /// A step is about to run: those who wait for this rank wait on.
  void working() const {
    if (link_ != nullptr) link_->exchange.working();
  }
  /// Waits for what is to be overwritten in place.
  void begin_pass(size_t pass);
  /// Afterwards the rows that a band reads are there.
  void begin_band(size_t band);
  /// A band is done. Afterwards what is sent from rows that no later band reads has gone.
  void end_band(size_t band);
  /// Waits for all transfers of tensors that no later pass reads.
  void before_release();
  /// Makes the statistics that the pass has taken those of all ranks. Throws DeviceError naming the layer
  /// where they are not finite, in every rank the same.
  void merge_statistics();
  /// The pass is done, and what it wrote is still there: rows that others read begin to leave.
  void end_pass();

 private:
  struct Pending {
    Exchange::Ticket ticket = 0;
    bool received = false;
    std::vector<const RowTransfer*> transfers{};
    std::vector<Span> rows{};         ///< on the device
    std::vector<std::byte> staged{};  ///< the same in the host's memory, where they go through that
  };
  const Pass& pass() const { return plan_.passes[pass_]; }
  bool leaves(TensorId tensor) const;
  void post(bool upwards);
  std::vector<Span> spans_of(const RowTransfer& transfer) const;
  Message message_to(int32_t peer, Pending& pending);
  void wait(Pending& pending);
  /// Waits for those of which this is true of a transfer.
  void wait_for(const std::function<bool(const Pending&, const RowTransfer&)>& needed);

  const Graph& graph_;
  const Plan& plan_;
  const Sizes sizes_;
  Device& device_;
  const RankLink* link_;
  HostCopies* const copies_;  ///< null where spans are what the exchange takes
  const ViewOf view_of_;
  std::vector<Pending> pending_;
  std::map<TensorId, RowReaders> readers_;  ///< of the pass that runs, of tensors that are on their way
  size_t pass_ = 0;
};

}  // namespace headroom
