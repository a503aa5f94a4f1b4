#include "decoder/base/os/descriptor.h"

#include <unistd.h>

namespace headroom {

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

}  // namespace headroom
