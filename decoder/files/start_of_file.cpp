#include "decoder/files/start_of_file.h"

#include <fstream>

#include "decoder/base/os/system_failure.h"

namespace headroom {

std::optional<std::string> start_of_file(const std::filesystem::path& file, int64_t most_bytes) {
  if (!is_file_at(file)) return std::nullopt;
  if (is_empty_at(file)) return "";
  std::ifstream in(file, std::ios::binary);
  if (!in) return std::nullopt;
  std::string start(static_cast<size_t>(most_bytes), '\0');
  in.read(start.data(), most_bytes);
  if (in.gcount() == 0) return std::nullopt;  // reading failed: the file is not empty
  start.resize(static_cast<size_t>(in.gcount()));
  return start;
}

}  // namespace headroom
