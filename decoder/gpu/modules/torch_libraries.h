#pragma once

/// Reason why this module cannot use the CUDA libraries of this process's PyTorch, on one line. Null if it
/// can.
extern "C" __attribute__((visibility("default"))) const char* headroom_refuses_torch();
