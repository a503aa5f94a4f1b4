#pragma once

#include <string>
#include <vector>

#include "planner/run/job.h"

namespace headroom {

/// Bytes that a plan may take of the device's free memory: of the card's, or of the host's if `gpu` is null.
/// Throws DeviceError if the host does not report its memory.
int64_t limit_of_free_memory(const gpu::Gpu* gpu);

/// Makes the plans that are not given, and checks all by the validator. Opens the GPU whose free memory is a
/// limit. On the host, questions lose their profiles. Throws InputError, DoesNotFit, DeviceError.
void plan(Work& work);

/// Plans a task again for the GPU memory that is free now, which `refused` exceeds. Returns the second half
/// of a message: the new plan's memory and time, or why there is none. Errors become part of
/// the text.
std::string next_smaller_plan(const Work& work, const Task& task, const Plan& refused);

}  // namespace headroom
