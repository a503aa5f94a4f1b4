// Runs the reader kFuzzedReader under libFuzzer (https://llvm.org/docs/LibFuzzer.html).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <string_view>

#include "decoder/base/errors.h"
#include "tests/fuzz/json_mutations.h"
#include "tests/fuzz/readers.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

const headroom::fuzz::Reader& reader() {
  static const headroom::fuzz::Reader& known = headroom::fuzz::reader_named(headroom::fuzz::kFuzzedReader);
  return known;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    reader().read({reinterpret_cast<const char*>(data), size});
  } catch (const headroom::InputError& refused) {
    // A message has one line of readable length.
    const std::string_view message = refused.what();
    if (message.empty() || message.size() > 20'000) __builtin_trap();
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  if (!reader().reads_json || random() % 4 == 0) return LLVMFuzzerMutate(data, size, most);
  nlohmann::json document = nlohmann::json::parse(data, data + size, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return LLVMFuzzerMutate(data, size, most);
  for (unsigned count = 1 + static_cast<unsigned>(random() % 3); count > 0; --count)
    headroom::fuzz::mutate(document, random);
  const std::string text = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > most) return LLVMFuzzerMutate(data, size, most);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
