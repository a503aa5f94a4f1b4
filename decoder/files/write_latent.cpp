#include "decoder/files/write_latent.h"

#include <nlohmann/json.hpp>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/nearest.h"
#include "decoder/base/os/whole_file.h"
#include "decoder/base/printable.h"
#include "decoder/files/npy.h"

namespace headroom {
namespace {

/// Bytes before the data of a .safetensors file: the header's length, and the header padded to 8 bytes.
std::string safetensors_head(const nlohmann::ordered_json& tensors) {
  std::string text = tensors.dump(), head;
  while (text.size() % 8 != 0) text += ' ';
  for (int byte = 0; byte < 8; ++byte) head += static_cast<char>(text.size() >> (8 * byte) & 0xff);
  return head + text;
}

std::string head_of(const std::filesystem::path& file, const Array& latent) {
  const std::string suffix = lower_case(file.extension().string());
  if (suffix == ".npy") return make_npy_header(latent.shape);
  const size_t bytes = latent.values.size() * sizeof(float);
  const auto tensor = [](const std::vector<int64_t>& shape, size_t begin, size_t end) {
    return nlohmann::ordered_json{{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, end}}};
  };
  if (suffix == ".safetensors") return safetensors_head({{"latent", tensor(latent.shape, 0, bytes)}});
  return safetensors_head({{"latent_tensor", tensor(latent.shape, 0, bytes)},
                           {"latent_format_version_0", tensor({0}, bytes, bytes)}});
}

}  // namespace

void check_latent_output(const std::filesystem::path& file) {
  const std::string suffix = lower_case(file.extension().string());
  if (suffix == ".npy" || suffix == ".safetensors" || suffix == ".latent") return;
  throw InputError("-o " + printable(file.string()) + ": expected a latent in .npy, .safetensors or .latent");
}

void write_latent(const std::filesystem::path& file, const Array& latent) {
  check_latent_output(file);
  std::string bytes = head_of(file, latent);
  bytes.append(reinterpret_cast<const char*>(latent.values.data()), latent.values.size() * sizeof(float));
  write_file_whole(file, bytes);
}

}  // namespace headroom
