#include "profiler/history/decoding_class.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace headroom::profiler {
namespace {

/// Classes by the file that diffusers, or their own authors, have them in.
constexpr std::pair<std::string_view, const char*> kClassFiles[] = {
    {"autoencoder_asym_kl.py", "AsymmetricAutoencoderKL"},
    {"autoencoder_dc.py", "AutoencoderDC"},
    {"autoencoder_kl.py", "AutoencoderKL"},
    {"autoencoder_kl_flux2.py", "AutoencoderKLFlux2"},
    {"autoencoder_kl_hunyuan_video.py", "AutoencoderKLHunyuanVideo"},
    {"autoencoder_kl_hunyuanimage.py", "AutoencoderKLHunyuanImage"},
    {"autoencoder_kl_hunyuanvideo15.py", "AutoencoderKLHunyuanVideo15"},
    {"autoencoder_kl_ltx.py", "AutoencoderKLLTXVideo"},
    {"autoencoder_kl_ltx2.py", "AutoencoderKLLTX2Video"},
    {"autoencoder_kl_qwenimage.py", "AutoencoderKLQwenImage"},
    {"autoencoder_kl_qwenimage21.py", "AutoencoderKLQwenImage21"},
    {"autoencoder_kl_wan.py", "AutoencoderKLWan"},
    {"autoencoder_tiny.py", "AutoencoderTiny"},
    {"modeling_causalvae.py", "CausalVAEModel"}};

constexpr size_t kNoClass = std::size(kClassFiles);

/// The class in whose decode() a frame is, or kNoClass.
size_t class_of(const CodeFrame& frame) {
  if (frame.kind != CodeFrame::Kind::code || frame.function.find("decode") == std::string::npos)
    return kNoClass;
  const std::string_view path = frame.file;
  const size_t slash = path.find_last_of("/\\");
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const auto* found = std::find_if(std::begin(kClassFiles), std::end(kClassFiles),
                                   [&](const auto& known) { return known.first == name; });
  return static_cast<size_t>(found - std::begin(kClassFiles));
}

}  // namespace

std::optional<DecodingClass> decoding_class(const CodeStacks& stacks, const DeviceHistory& device) {
  std::vector<size_t> classes(stacks.size(), kNoClass);
  std::vector<bool> tiled(stacks.size(), false);
  for (StackId id = 1; id < stacks.size(); ++id) {  // what lies below a stack has a smaller id
    const size_t own = class_of(stacks.top(id));
    classes[id] = own != kNoClass ? own : classes[stacks.below(id)];
    tiled[id] = tiled[stacks.below(id)] ||
                (own != kNoClass && stacks.top(id).function.find("tiled") != std::string::npos);
  }
  std::map<size_t, double> bytes;
  for (const RecordedAllocation& one : device.allocations)
    if (classes[one.stack] != kNoClass) bytes[classes[one.stack]] += double(one.bytes);
  for (const RecordedRefusal& refused : device.refusals)
    if (classes[refused.stack] != kNoClass) bytes[classes[refused.stack]] += double(refused.asked_bytes);
  if (bytes.empty()) return std::nullopt;
  const size_t most = std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) {
                        return a.second < b.second;
                      })->first;
  DecodingClass found;
  found.name = kClassFiles[most].second;
  found.decodes.resize(stacks.size());
  for (size_t id = 0; id < stacks.size(); ++id) found.decodes[id] = classes[id] == most;
  for (const RecordedAllocation& one : device.allocations) {
    if (!found.decodes[one.stack]) continue;
    ++found.allocations;
    found.tiled = found.tiled || tiled[one.stack];
  }
  return found;
}

}  // namespace headroom::profiler
