#include "decoder/program/plan_beside.h"

#include <nlohmann/json.hpp>

#include "decoder/cli/run_guard.h"
#include "decoder/graph/errors.h"
#include "decoder/graph/json_fields.h"
#include "decoder/program/child_program.h"

namespace headroom {

nlohmann::json plan_from_program_beside(const std::vector<std::string>& arguments, DeviceKind device) {
  constexpr int64_t kMostPlanBytes = int64_t{256} << 20;
  const PrivateFolder folder({"plan.json", "messages"});
  std::vector<std::string> words = arguments;
  words.insert(words.end(), {"--device", name_of(device), "-o", folder.file(0)});
  const ChildEnd end = run_program_beside("headroom-plan", words, folder.file(1),
                                          "--limit needs headroom-plan beside headroom-decode");
  switch (end.exit_code) {
    case kDone:
      return read_json_file(folder.file(0), kMostPlanBytes);
    case kBadInput:
      throw InputError(end.message);
    case kDoesNotFit:
      throw DoesNotFit(end.message, 0);
    default:
      throw DeviceError("headroom-plan failed: " + end.message);
  }
}

}  // namespace headroom
