#pragma once

// PyTorch's wheel has Gloo in libtorch_cpu.so and c10d's headers for it, but not Gloo's own headers. This
// file and its neighbours declare only what c10d's headers name, as Gloo does.
