#include "tests/fuzz/readers.h"

namespace headroom::fuzz {

const char* const kFuzzedReader = HEADROOM_READER;

}  // namespace headroom::fuzz
