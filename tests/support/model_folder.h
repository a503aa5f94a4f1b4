#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "decoder/families/load_model.h"
#include "decoder/files/array.h"
#include "decoder/files/npy.h"
#include "decoder/graph/model.h"
#include "decoder/operations/operation.h"
#include "decoder/weights/random_weights.h"
#include "tests/decoder/files/scratch.h"

namespace headroom::test {

/// All parameters of a model as one fp32 safetensors file, filled from a seed.
inline std::string random_safetensors(const Graph& graph, uint64_t seed) {
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  for (const Op& op : graph.ops()) {
    for (const Parameter& parameter : parameters_of(graph, op)) {
      if (header.contains(parameter.name)) continue;  // several operations share it
      const int64_t count = elements_of(parameter);
      std::vector<float> values(static_cast<size_t>(count));
      fill_random(parameter, seed, values.data());
      const size_t begin = data.size();
      data += bytes_of(values);
      header[parameter.name] = {
          {"dtype", "F32"}, {"shape", parameter.shape}, {"data_offsets", {begin, data.size()}}};
    }
  }
  return safetensors_bytes(header.dump(), data);
}

/// config.json and weights in diffusers' layout, in `folder`/`name`.
inline std::filesystem::path write_model(const std::filesystem::path& folder, const nlohmann::json& config,
                                         uint64_t seed) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "config.json") << config.dump();
  std::ofstream(folder / "diffusion_pytorch_model.safetensors", std::ios::binary)
      << random_safetensors(parse_model(config.dump(), "config.json").graph, seed);
  return folder;
}

inline std::filesystem::path write_npy(const std::filesystem::path& file, const Array& array) {
  std::ofstream out(file, std::ios::binary);
  out << make_npy_header(array.shape);
  out.write(reinterpret_cast<const char*>(array.values.data()),
            static_cast<std::streamsize>(array.values.size() * sizeof(float)));
  return file;
}

}  // namespace headroom::test
