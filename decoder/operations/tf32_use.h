#pragma once

#include "decoder/graph/graph.h"
#include "decoder/plan/tf32.h"

namespace headroom {

/// True if a convolution or attention in fp32 on a GPU may round its inputs to TF32.
inline bool may_use_tf32(const Op& op, const Tf32& tf32) {
  return op.kind == OpKind::conv && !op.convolution.linear ? tf32.convolutions : tf32.products;
}

}  // namespace headroom
