#pragma once

#include <string_view>

namespace headroom::fuzz {

/// A reader of untrusted files. It must accept the bytes or throw an InputError with a one-line message.
/// Anything else is a bug.
struct Reader {
  const char* name;
  bool reads_json;  ///< inputs are mutated as JSON (json_mutations.h)
  void (*read)(std::string_view bytes);
};

/// Finds a reader by name. Each reader has seed inputs in corpus/<name>.
const Reader& reader_named(std::string_view name);

/// Name of the reader in the executable fuzz_<name>.
extern const char* const kFuzzedReader;

}  // namespace headroom::fuzz
