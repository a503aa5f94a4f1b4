#include "decoder/files/file_kind.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "decoder/base/os/system_failure.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

constexpr int64_t kStartBytes = 512;
constexpr size_t kLengthBytes = 8;  ///< the header length field of a .safetensors file

/// Quotes `text` as one word of a shell command.
std::string quoted(const std::string& text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::strchr("/._-+:=@,", c) != nullptr;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

bool begins_as_safetensors(std::string_view start) {
  return start.size() > kLengthBytes && start[kLengthBytes] == '{';
}

/// Pickle protocols 2 to 5 start with their version. Older pickles of a dictionary start with "(dp" or
/// "(lp".
bool is_pickle(std::string_view start) {
  if (start.starts_with("(dp") || start.starts_with("(lp") || start.starts_with("ccollections\n"))
    return true;
  return start.size() > 2 && start[0] == '\x80' && start[1] >= 2 && start[1] <= 5;
}

bool is_web_page(std::string_view start) {
  const std::string text = lower_case(std::string(start));
  const size_t first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == std::string::npos) return false;
  const std::string_view page = std::string_view(text).substr(first);
  return page.starts_with("<!doctype html") || page.starts_with("<html") || page.starts_with("<head") ||
         page.starts_with("<?xml") || page.starts_with("<!--");
}

std::string made_beside(const std::string& file) {
  std::string made = std::filesystem::path(file).replace_extension(".safetensors");
  return made == file ? file + ".safetensors" : made;
}

}  // namespace

std::string conversion_command(const std::string& file, const std::string& made) {
  return "python -c \"import sys, torch, safetensors.torch as s; "
         "d = torch.load(sys.argv[1], map_location='cpu', weights_only=True); d = d.get('state_dict', d); "
         "s.save_file({k: v.clone().contiguous() for k, v in d.items() if torch.is_tensor(v)}, "
         "sys.argv[2])\" " +
         quoted(printable(file)) + " " + quoted(printable(made));
}

std::string instead_of_safetensors(const ReadOnlyFile& file) {
  std::string start(static_cast<size_t>(std::min(file.bytes(), kStartBytes)), '\0');
  file.read_at(0, start.data(), static_cast<int64_t>(start.size()));
  if (begins_as_safetensors(start)) return "";
  if (start.empty()) return "is empty: download it again";
  if (start.starts_with("PK\x03\x04") || is_pickle(start)) {
    return "is a PyTorch pickle, no safetensors file; convert it: " +
           conversion_command(file.origin(), made_beside(file.origin()));
  }
  if (start.starts_with("version https://git-lfs.github.com/spec/"))
    return "is a Git LFS pointer, not the file itself; fetch that: git lfs pull";
  if (is_web_page(start)) {
    return "is a web page, no safetensors file; download the file itself (on Hugging Face its address has "
           "/resolve/ in place of /blob/)";
  }
  if (start.starts_with("GGUF"))
    return "is a GGUF file, which is not read; expected the VAE as a .safetensors file";
  if (start.starts_with("{") || start.starts_with("["))
    return "is JSON, no safetensors file; name the weights, or the folder that they lie in";
  return "";
}

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
