#pragma once

#include <string_view>

namespace headroom::fuzz {

/// A reader of files from outside. It takes any bytes: it reads them, or throws an InputError of one line.
/// Anything else that it does is a fault.
struct Reader {
  const char* name;
  bool reads_json;  ///< so that inputs are changed as JSON (json_mutations.h)
  void (*read)(std::string_view bytes);
};

/// All of them; of each there is a folder corpus/<name> with inputs to start from.
const Reader& reader_named(std::string_view name);

/// That of the program: fuzz_<name>.
extern const char* const kFuzzedReader;

}  // namespace headroom::fuzz
