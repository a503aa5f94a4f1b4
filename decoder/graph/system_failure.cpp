#include "decoder/graph/system_failure.h"

#include <cerrno>
#include <system_error>

#include "decoder/graph/errors.h"

namespace headroom {

bool is_system_failure(int error_number) {
  return error_number == ENOSPC || error_number == EDQUOT || error_number == EMFILE ||
         error_number == ENFILE || error_number == ENOMEM || error_number == EIO;
}

void fail_by_errno(const std::string& what, int error_number) {
  const std::string message = what + ": " + std::generic_category().message(error_number);
  if (is_system_failure(error_number)) throw DeviceError(message);
  throw InputError(message);
}

}  // namespace headroom
