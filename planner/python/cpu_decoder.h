#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "decoder/session/cpu_session.h"
#include "planner/python/in_process_decoder.h"

namespace headroom::python {

/// Decodes on the CPU. Packed weights stay between decodes and serve every size. All other memory goes back
/// to the system after each decode.
class CpuDecoder final : public InProcessDecoder {
 public:
  explicit CpuDecoder(std::shared_ptr<const Model> model);

  RunStats decode(const Call& call) override;
  bool has_weights(const Plan& plan) override;
  void drop_weights() override;
  std::vector<uint64_t> checksums(const std::vector<std::span<const std::byte>>& stretches) override;
  int64_t held_bytes() override;

 private:
  const std::shared_ptr<const Model> model_;
  std::mutex mutex_;
  const MemoryWeights* weights_ = nullptr;  ///< weights of the running decode
  std::function<void(double)> loading_;     ///< loading callback of the running decode
  const ParameterSource source_;
  std::vector<Plan> plans_;  ///< the plan of the running decode
  std::optional<CpuSession> session_;
};

}  // namespace headroom::python
