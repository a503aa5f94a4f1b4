#include "reports/figures/unknown_file.h"

#include <algorithm>
#include <fstream>
#include <string_view>

#include "decoder/files/start_of_file.h"
#include "decoder/graph/errors.h"
#include "decoder/graph/system_failure.h"

namespace headroom::reports {
namespace {

constexpr size_t kFirstBytes = 4096;

struct KnownStart {
  std::string_view bytes;
  const char* what;
};

constexpr KnownStart kStarts[] = {
    {"\x89PNG", "a picture (PNG)"},
    {"\xff\xd8\xff", "a picture (JPEG)"},
    {"GIF8", "a picture (GIF)"},
    {"RIFF", "a picture, a sound or a clip (RIFF)"},
    {"P6\n", "a picture (PPM)"},
    {"YUV4MPEG2", "a clip (Y4M)"},
    {"\x93NUMPY", "an array (NumPy's .npy)"},
    {"GGUF", "weights (GGUF)"},
    {"\x1f\x8b", "a compressed file (gzip)"},
    {"%PDF", "a document (PDF)"},
    {"\x7f"
     "ELF",
     "a program"},
    {"<?xml", "XML"},
    {"<!DOCTYPE html", "a web page"},
    {"<html", "a web page"},
};

/// The length of a JSON header, then the header.
bool is_safetensors(std::string_view start, uintmax_t file_bytes) {
  if (start.size() < 10 || start[8] != '{') return false;
  uint64_t header = 0;
  for (size_t i = 8; i-- > 0;) header = header << 8 | static_cast<unsigned char>(start[i]);
  return header > 1 && header < file_bytes;
}

std::string seems(std::string_view start, uintmax_t file_bytes) {
  if (start.empty()) return "an empty file";
  for (const KnownStart& known : kStarts) {
    if (start.starts_with(known.bytes)) return known.what;
  }
  if (start.starts_with("PK\x03\x04")) {
    return start.find("data.pkl") == std::string_view::npos ? "a compressed folder (zip)"
                                                            : "a file of PyTorch's torch.save";
  }
  if (is_safetensors(start, file_bytes)) return "weights or a latent (.safetensors)";
  const size_t first = start.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string_view::npos) return "nothing but spaces";
  if (start[first] == '{') return {};
  if (start[first] == '[') return "a list in JSON";
  const bool binary =
      std::any_of(start.begin(), start.end(), [](char c) { return c >= 0 && c < ' ' && !std::isspace(c); });
  return binary ? "a binary file of another program" : "a text that is no JSON";
}

}  // namespace

std::string seems_to_be(const std::filesystem::path& file) {
  std::error_code error;
  if (is_folder_at(file)) return "a folder";
  const std::optional<std::string> start = start_of_file(file, kFirstBytes);
  if (!start) return {};
  return seems(*start, std::filesystem::file_size(file, error));
}

void require_json_object(const std::filesystem::path& file) {
  const std::string what = seems_to_be(file);
  if (what.empty()) return;
  throw InputError(file.string() + ": this seems to be " + what + "; " + kOpenedHere);
}

}  // namespace headroom::reports
