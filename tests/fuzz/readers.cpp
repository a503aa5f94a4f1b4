#include "tests/fuzz/readers.h"

#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "decoder/base/json_fields.h"
#include "decoder/families/load_model.h"
#include "decoder/files/latent_file.h"
#include "decoder/files/safetensors.h"
#include "decoder/graph/model.h"
#include "decoder/operations/operation.h"
#include "decoder/pictures/read_picture.h"
#include "decoder/plan/plan_file.h"
#include "decoder/plan/requests_file.h"
#include "decoder/plan/stats_file.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/trace/trace_file.h"
#include "decoder/validator/validator.h"
#include "decoder/weights/open_model.h"
#include "profiler/eager/recording_file.h"
#include "profiler/history/memory_history.h"
#include "profiler/profile/profile_file.h"
#include "reports/figures/document.h"

namespace headroom::fuzz {
namespace {

/// Config of the decoder that the corpus's plans, queues and weights belong to.
constexpr const char* kConfig = R"({"_class_name": "AutoencoderKL", "block_out_channels": [8, 16],
  "layers_per_block": 1, "norm_num_groups": 4, "latent_channels": 4, "scaling_factor": 0.125,
  "down_block_types": ["DownEncoderBlock2D", "DownEncoderBlock2D"],
  "up_block_types": ["UpDecoderBlock2D", "UpDecoderBlock2D"]})";

const Model& model() {
  static const Model known = parse_model(kConfig, "config.json");
  return known;
}

/// Writes the input to a file, for readers that take a path. The file's suffix selects the format.
std::filesystem::path as_file(std::string_view bytes, const std::string& name) {
  static const std::filesystem::path folder = [] {
    const char* shared_memory = std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
    std::string pattern = std::string(shared_memory) + "/headroom-fuzz-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for inputs");
    static const std::string made = pattern;
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(made, ignored);
    });
    return std::filesystem::path(made);
  }();
  std::ofstream(folder / name, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return folder / name;
}

void read_config(std::string_view bytes) {
  const Model found = parse_model(std::string(bytes), "config.json");
  latent_extent(found, 64, 64, 1);
  if (found.encoder) found.encoder();
}

void read_any_picture(std::string_view bytes) {
  const std::filesystem::path file = as_file(bytes, "picture");
  const Pixels size = read_pixels(file, PixelPart::size);
  if (size.rows * size.columns <= 1 << 20)
    read_picture(file, 3);  // a few bytes can claim a picture that takes seconds
}

void read_plans(std::string_view bytes) {
  const PlanFile file(as_file(bytes, "plan.json"));
  const Graph& graph = model().graph;
  if (file.has_ranks()) {
    file.plans(graph);
  } else {
    validate(file.plan(graph), model());
  }
}

void read_requests(std::string_view bytes) {
  const std::string text(bytes);
  check_json(text, "requests.json");
  const nlohmann::json document = parse_json(text, "requests.json");
  const JsonFields fields(document, "requests.json");
  requests_from_json(fields);
  for (const Plan& plan : planned_queue_from_json(fields, model().graph).plans) validate(plan, model());
}

void read_safetensors(std::string_view bytes) {
  const SafetensorsFile file(as_file(bytes, "file.safetensors"));
  for (const std::string& name : file.names()) {
    const TensorView view = file.tensor(name);
    int64_t elements = 1;
    for (const int64_t extent : view.shape) elements *= std::clamp<int64_t>(extent, 0, 1 << 10);
    if (elements > 1 << 16) continue;
    std::vector<float> values(static_cast<size_t>(std::max<int64_t>(elements, 1)));
    if (view.shape.size() < 5 && elements > 0) copy_as_float(view, {0, 1}, values.data());
  }
}

void read_index(std::string_view bytes) {
  const std::filesystem::path index = as_file(bytes, "diffusion_pytorch_model.safetensors.index.json");
  const ParameterSource weights = open_weights("", index.parent_path().string(), std::nullopt);
  const Parameter parameter = parameters_of(model().graph, model().graph.ops().front()).front();
  float first = 0;
  weights(parameter, {0, 1}, &first);
}

void read_npy(std::string_view bytes) {
  read_stored_latent(as_file(bytes, "latent.npy").string());
}
void read_torch(std::string_view bytes) {
  read_stored_latent(as_file(bytes, "latent.pt").string());
}
void read_stats_file(std::string_view bytes) {
  const std::string text(bytes);
  const nlohmann::json document = parse_json(text, "stats.json");
  stats_from_json(JsonFields(document, "stats.json"));
}
void read_profile_file(std::string_view bytes) {
  profiler::read_profile(as_file(bytes, "profile.json"));
}
void read_recording(std::string_view bytes) {
  profiler::read_eager_recording(as_file(bytes, "recording.json"));
}
void read_traces(std::string_view bytes) {
  traces_from_json(std::string(bytes), "trace.json");
}
void read_frontier(std::string_view bytes) {
  const nlohmann::json document = parse_json(std::string(bytes), "frontier.json");
  reports::frontier_from_json(document, "frontier.json");
}
void read_snapshot(std::string_view bytes) {
  profiler::read_memory_snapshot(as_file(bytes, "snapshot.pickle"));
}

constexpr Reader kReaders[] = {{"config", true, read_config},
                               {"plan", true, read_plans},
                               {"requests", true, read_requests},
                               {"stats", true, read_stats_file},
                               {"profile", true, read_profile_file},
                               {"recording", true, read_recording},
                               {"trace", true, read_traces},
                               {"frontier", true, read_frontier},
                               {"index", true, read_index},
                               {"safetensors", false, read_safetensors},
                               {"npy", false, read_npy},
                               {"picture", false, read_any_picture},
                               {"torch", false, read_torch},
                               {"snapshot", false, read_snapshot}};

}  // namespace

const Reader& reader_named(std::string_view name) {
  for (const Reader& reader : kReaders) {
    if (name == reader.name) return reader;
  }
  throw std::runtime_error("no reader " + std::string(name));
}

}  // namespace headroom::fuzz
