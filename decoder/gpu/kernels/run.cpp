#include "decoder/gpu/kernels/kernels.h"

namespace headroom::gpu {

void run(const Call& call, StreamHandle stream) {
  std::visit([stream](const auto& one) { start(one, stream); }, call);
}

}  // namespace headroom::gpu
