#pragma once

#include "decoder/gpu/transfers/pinned_staging.h"
#include "decoder/interpreter/host_copies.h"

namespace headroom {

/// Copies between a GPU's memory and pageable memory of the host, through pinned staging, on the compute
/// stream:
///
///     GPU        ..a....b c.....d..    b and c touch: one copy
///                  |     |      |
///     staging    [a][b c][d]           at most one staging buffer at a time
///     host       [a b c d]
class StagedCopies final : public HostCopies {
 public:
  /// `staging` must outlive it.
  explicit StagedCopies(PinnedStaging& staging) : staging_(staging) {}

  void to_host(const std::vector<Span>& from, std::byte* to) override;
  void to_device(const std::byte* from, const std::vector<Span>& to) override;

 private:
  PinnedStaging& staging_;
};

}  // namespace headroom
