#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "decoder/cli/arguments.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "planner/answer/question.h"

namespace headroom::planner {

/// Bytes of --limit. `auto` is the memory available to this process, less a margin; it works for the CPU only
/// (decoder/base/os/free_memory.h). Throws InputError.
int64_t limit_from(const std::string& text, const DeviceRecord& device);

/// Help text of --device in commands that plan.
constexpr const char* kDeviceHelp =
    "device to plan for: cpu, or cuda for an NVIDIA GPU; a plan for cuda:1 is one for cuda";

/// Options shared by commands that plan one request.
struct RequestOptions {
  std::string model, profile_file, size, dtype = "fp32", device = "cpu", host_limit, scratch_folder,
                                         scratch_limit, weights = "auto", tf32;
  std::string thrift;  ///< empty: kDefaultThrift
  std::string direction = "decode";
  int64_t frames = 1, batch = 1;
  bool other_environment = false;

  void add_to(CLI::App& app);
  /// Throw InputError naming the option, or the file and the field.
  Model resolved_model() const;  ///< for `direction` and `frames`
  /// Writes a note to `err` if the model decodes in another dtype than requested. Call it once there is a
  /// result, because an error must stay a single line.
  void say_dtype(const Model& resolved, std::ostream& err) const;
  /// Throws InputError if options contradict each other.
  void check() const;
  PictureSize picture_size() const;  ///< of `size`, `frames` and `batch`
  /// The options as a question about a picture of this size, without the limit and the time budget.
  Question question(const Model& resolved, const PictureSize& picture) const;

 private:
  Request request(const Model& resolved, const PictureSize& picture) const;
  PlanOptions plan_options() const;
};

}  // namespace headroom::planner
