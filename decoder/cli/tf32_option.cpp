#include "decoder/cli/tf32_option.h"

#include "decoder/base/errors.h"

namespace headroom {

void set_tf32(Request& request, const std::string& option) {
  if (!option.empty()) request.tf32 = parse_tf32(option == "true" ? "all" : option, "--tf32");
  if (const std::string wrong = wrong_tf32(request); !wrong.empty())
    throw InputError("--tf32: " + wrong + "; leave --tf32 out, or give --device cuda and --dtype fp32");
}

}  // namespace headroom
