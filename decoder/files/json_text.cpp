#include "decoder/files/json_text.h"

#include <fstream>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/os/read_only_file.h"
#include "decoder/base/os/system_failure.h"
#include "decoder/base/text_streams.h"
#include "decoder/files/short_tokens.h"

namespace headroom {

std::unique_ptr<std::istream> open_json_text(const std::filesystem::path& file, int64_t most_bytes) {
  if (is_empty_at(file)) return std::make_unique<TextReader>("");
  if (const ReadOnlyFile opened(file); opened.bytes() > most_bytes) {
    throw InputError(file.string() + ": expected at most " + std::to_string(most_bytes >> 20) +
                     " MiB, found " + std::to_string(opened.bytes()) + " bytes");
  }
  return with_short_tokens(std::make_unique<std::ifstream>(file, std::ios::binary), file.string());
}

}  // namespace headroom
