#pragma once

// PyTorch's wheel has Gloo in libtorch_cpu.so and c10d's headers over it, but not Gloo's own. This folder
// declares what those headers name, as Gloo declares it, and no more.
