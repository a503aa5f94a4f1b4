#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "decoder/session/cpu_session.h"
#include "decoder/weights/memory_weights.h"
#include "planner/python/planned_decode.h"

namespace headroom::python {

/// Decodes of one model on the CPU in a process that has other things to do. Packed weights stay between
/// decodes and serve every size; all other memory goes back to the system after each. Decodes wait for one
/// another.
class InProcessDecoder {
 public:
  explicit InProcessDecoder(std::shared_ptr<const Model> model);

  struct Call {
    const Plan& plan;
    /// Null where the weights of the decode before still hold.
    const MemoryWeights* weights = nullptr;
    const Array& latent;
    PictureSink& sink;
    int threads = 0;  ///< 0 leaves OpenMP's choice
    EventSink* events = nullptr;
    std::function<void(double)> loading{};  ///< told the share of the weights that is there
  };
  /// Throws InputError, LimitExceeded, DeviceError, and what events and loading throw; another decode may
  /// follow. The sink is finished.
  RunStats decode(const Call& call);

  /// Whether packed weights are there, so that a plan whose weights stay needs none.
  bool has_weights();
  void drop_weights();
  /// What is held now: packed weights between decodes.
  int64_t held_bytes();

 private:
  const std::shared_ptr<const Model> model_;
  std::mutex mutex_;
  const MemoryWeights* weights_ = nullptr;  ///< of the decode that runs
  std::function<void(double)> loading_;     ///< likewise
  const ParameterSource source_;
  std::vector<Plan> plans_;  ///< the one that runs
  std::optional<CpuSession> session_;
};

}  // namespace headroom::python
