#include "decoder/files/output_format.h"

#include <array>
#include <optional>

#include "decoder/base/errors.h"
#include "decoder/base/nearest.h"

namespace headroom {
namespace {

struct OutputSuffix {
  const char* suffix;
  OutputFormat format;
};

constexpr std::array kOutputSuffixes{OutputSuffix{".png", OutputFormat::png},
                                     OutputSuffix{".jpg", OutputFormat::jpeg},
                                     OutputSuffix{".jpeg", OutputFormat::jpeg},
                                     OutputSuffix{".webp", OutputFormat::webp},
                                     OutputSuffix{".y4m", OutputFormat::y4m},
                                     OutputSuffix{".npy", OutputFormat::npy},
                                     OutputSuffix{".safetensors", OutputFormat::safetensors}};

std::optional<OutputFormat> format_of_suffix(const std::string& suffix_in_any_case) {
  const std::string suffix = lower_case(suffix_in_any_case);
  for (const OutputSuffix& known : kOutputSuffixes) {
    if (suffix == known.suffix) return known.format;
  }
  return std::nullopt;
}

}  // namespace

OutputFormat output_format(const std::filesystem::path& path) {
  const std::string suffix = path.extension().string();
  if (const std::optional<OutputFormat> format = format_of_suffix(suffix)) return *format;
  if (suffix.empty() && !path.empty()) return OutputFormat::frame_folder;
  throw InputError(
      path.string() +
      ": expected an output in .png, .jpg, .webp, .y4m, .npy or .safetensors, or a folder without "
      "a suffix");
}

bool has_quality(const std::filesystem::path& path) {
  const std::optional<OutputFormat> format = format_of_suffix(path.extension().string());
  return format == OutputFormat::jpeg || format == OutputFormat::webp;
}

std::vector<std::string> output_suffixes() {
  std::vector<std::string> suffixes;
  suffixes.reserve(std::size(kOutputSuffixes));
  for (const OutputSuffix& known : kOutputSuffixes) suffixes.emplace_back(known.suffix);
  return suffixes;
}

}  // namespace headroom
