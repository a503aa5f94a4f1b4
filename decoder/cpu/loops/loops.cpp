#include "decoder/cpu/loops/loops.h"

#include "decoder/cpu/loops/elementwise_loop.h"
#include "decoder/cpu/loops/multiply_loop.h"
#include "decoder/cpu/loops/storage_loop.h"
#include "decoder/cpu/loops/winograd_loop.h"

namespace headroom::kernels {

extern const Loops HEADROOM_LOOPS;
const Loops HEADROOM_LOOPS{affine<Identity>,
                           affine<Silu>,
                           apply<Silu>,
                           apply<Relu>,
                           norm_of_pixel<false>,
                           norm_of_pixel<true>,
                           depthwise,
                           largest,
                           exponentials,
                           scale,
                           sum_16,
                           multiply,
                           kBlockLanes* kLanes < 16 ? 16 : kBlockLanes* kLanes,
                           {winograd_in<Plain>, winograd_out<Plain>},
                           {winograd_in<Upsampled>, winograd_out<Upsampled>},
                           widen_bf16,
                           widen_fp16,
                           narrow_bf16,
                           narrow_fp16,
                           checksum};

}  // namespace headroom::kernels
