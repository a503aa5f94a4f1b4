#include "decoder/files/write_latent.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/nearest.h"
#include "decoder/base/os/whole_file.h"
#include "decoder/base/printable.h"
#include "decoder/files/array_sink.h"
#include "decoder/files/npy.h"

namespace headroom {
namespace {

std::string head_of(const std::filesystem::path& file, const Array& latent) {
  const std::string suffix = lower_case(file.extension().string());
  if (suffix == ".npy") return make_npy_header(latent.shape);
  const size_t bytes = latent.values.size() * sizeof(float);
  const auto tensor = [](const std::vector<int64_t>& shape, size_t begin, size_t end) {
    return nlohmann::ordered_json{{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {begin, end}}};
  };
  using Json = nlohmann::ordered_json;
  if (suffix == ".safetensors")
    return safetensors_head(Json{{"latent", tensor(latent.shape, 0, bytes)}}.dump());
  return safetensors_head(Json{{"latent_tensor", tensor(latent.shape, 0, bytes)},
                               {"latent_format_version_0", tensor({0}, bytes, bytes)}}
                              .dump());
}

}  // namespace

std::vector<std::string> latent_output_suffixes() {
  return {".npy", ".safetensors", ".latent"};
}

void check_latent_output(const std::filesystem::path& file) {
  const std::vector<std::string> known = latent_output_suffixes();
  if (std::find(known.begin(), known.end(), lower_case(file.extension().string())) != known.end()) return;
  throw InputError("-o " + printable(file.string()) + ": expected a latent in .npy, .safetensors or .latent");
}

void write_latent(const std::filesystem::path& file, const Array& latent) {
  check_latent_output(file);
  std::string bytes = head_of(file, latent);
  bytes.append(reinterpret_cast<const char*>(latent.values.data()), latent.values.size() * sizeof(float));
  write_file_whole(file, bytes);
}

}  // namespace headroom
