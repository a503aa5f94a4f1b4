#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "decoder/operations/operation.h"
#include "decoder/weights/weight_files.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::bytes_of;
using test::require_input_error;
using test::safetensors_bytes;
using test::Scratch;

constexpr const char* kSingle = "diffusion_pytorch_model.safetensors";
constexpr const char* kIndex = "diffusion_pytorch_model.safetensors.index.json";

struct Stored {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

std::string file_of(const std::vector<Stored>& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::string data;
  for (const Stored& tensor : tensors) {
    const size_t begin = data.size();
    data += bytes_of(tensor.values);
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  return safetensors_bytes(header.dump(), data);
}

std::string index_of(const std::string& tensor, const std::string& file) {
  return nlohmann::json{{"metadata", {{"total_size", 4}}}, {"weight_map", {{tensor, file}}}}.dump();
}

std::vector<float> read(const WeightFiles& weights, const Parameter& parameter) {
  size_t elements = 1;
  for (const int64_t extent : parameter.shape) elements *= static_cast<size_t>(extent);
  std::vector<float> values(elements);
  weights.read(parameter, values.data());
  return values;
}

TEST_CASE("one file: parameters are read by name and shape") {
  const Scratch scratch;
  scratch.write(kSingle, file_of({{"a.weight", {2, 1, 1, 1}, {1, 2}},
                                  {"b.weight", {2, 2}, {1, 2, 3, 4}},
                                  {"frame.weight", {1, 2, 1, 1, 2}, {5, 6, 7, 8}}}));
  const WeightFiles weights(scratch.folder());
  CHECK(weights.contains("a.weight"));
  CHECK_FALSE(weights.contains("a.bias"));
  CHECK(weights.find("b.weight").bytes == 16);
  CHECK(read(weights, {"a.weight", {2, 1, 1, 1}}) == std::vector<float>{1, 2});
  // A linear layer and a 1×1 convolution stand for one another.
  CHECK(read(weights, {"a.weight", {2, 1}}) == std::vector<float>{1, 2});
  CHECK(read(weights, {"b.weight", {2, 2, 1, 1}}) == std::vector<float>{1, 2, 3, 4});
  CHECK(read(weights, {"b.weight", {2, 2, 1, 1, 1}}) == std::vector<float>{1, 2, 3, 4});
  // So do kernels of one frame, with and without an axis for it.
  CHECK(read(weights, {"frame.weight", {1, 2, 1, 2}}) == std::vector<float>{5, 6, 7, 8});
  float out[4];
  require_input_error(
      [&] {
        weights.read({"b.weight", {4}}, out);
      },
      {kSingle, ": b.weight: shape: expected [4], found [2, 2]"});
  require_input_error([&] { weights.read({"b.weight", {2, 1, 2, 1}}, out); }, {"b.weight: shape"});
  require_input_error([&] { weights.read({"b.weight", {1, 4}}, out); }, {"b.weight: shape"});
  require_input_error([&] { weights.read({"frame.weight", {1, 2, 2, 1}}, out); }, {"frame.weight: shape"});
  require_input_error([&] { weights.read({"c.weight", {4}}, out); }, {kSingle, ": c.weight: no such tensor"});
  require_input_error([&] { weights.find("c.weight"); }, {kSingle, ": c.weight: no such tensor"});
}

TEST_CASE("weights that are not finite are refused with their place") {
  const Scratch scratch;
  scratch.write(kSingle, file_of({{"n", {3}, {1, 2, NAN}}, {"i", {2}, {-INFINITY, 2}}}));
  const WeightFiles weights(scratch.folder());
  float out[3];
  require_input_error([&] { weights.read({"n", {3}}, out); }, {kSingle, ": n: element 2 is not finite"});
  require_input_error([&] { weights.read({"i", {2}}, out); }, {kSingle, ": i: element 0 is not finite"});
}

TEST_CASE("ranges of a parameter are read alone, and name the element that is not finite") {
  const Scratch scratch;
  scratch.write(kSingle, file_of({{"a", {2, 3}, {1, 2, 3, 4, NAN, 6}}}));
  const WeightFiles weights(scratch.folder());
  float out[3] = {};
  weights.read({"a", {2, 3}}, {1, 4}, out);
  CHECK(std::vector<float>(out, out + 3) == std::vector<float>{2, 3, 4});
  require_input_error(
      [&] {
        weights.read({"a", {2, 3}}, {3, 6}, out);
      },
      {kSingle, ": a: element 4 is not finite"});
  require_input_error([&] { weights.read({"a", {3, 3}}, {0, 1}, out); }, {kSingle, ": a: shape"});
}

TEST_CASE("a file by itself, with the names of an original checkpoint") {
  const Scratch scratch;
  scratch.write("ae.safetensors", file_of({{"decoder.mid.block_1.norm1.weight", {2}, {1, 2}},
                                           {"decoder.up.1.block.0.conv1.weight", {1, 1, 1, 2}, {3, 4}}}));
  const WeightFiles weights(scratch.folder() / "ae.safetensors");
  CHECK(read(weights, {"decoder.mid_block.resnets.0.norm1.weight", {2}}) == std::vector<float>{1, 2});
  CHECK(read(weights, {"decoder.up_blocks.0.resnets.0.conv1.weight", {1, 1, 1, 2}}) ==
        std::vector<float>{3, 4});
  require_input_error([&] { WeightFiles(scratch.folder() / "ae.bin"); }, {"ae.bin", "no such folder"});
}

TEST_CASE("attention is found under its old names") {
  const Scratch scratch;
  const std::string at = "decoder.mid_block.attentions.0.";
  scratch.write(kSingle, file_of({{at + "query.weight", {1, 1, 1, 1}, {1}},
                                  {at + "query.bias", {1}, {2}},
                                  {at + "key.weight", {1, 1}, {3}},
                                  {at + "value.bias", {1}, {4}},
                                  {at + "proj_attn.weight", {1, 1}, {5}},
                                  {at + "group_norm.weight", {1}, {6}},
                                  {"other.query.weight", {1, 1}, {7}}}));
  const WeightFiles weights(scratch.folder());
  CHECK(read(weights, {at + "to_q.weight", {1, 1}}) == std::vector<float>{1});
  CHECK(read(weights, {at + "to_q.bias", {1}}) == std::vector<float>{2});
  CHECK(read(weights, {at + "to_k.weight", {1, 1, 1, 1}}) == std::vector<float>{3});
  CHECK(read(weights, {at + "to_v.bias", {1}}) == std::vector<float>{4});
  CHECK(read(weights, {at + "to_out.0.weight", {1, 1}}) == std::vector<float>{5});
  CHECK(read(weights, {at + "group_norm.weight", {1}}) == std::vector<float>{6});
  CHECK_FALSE(weights.contains("other.to_q.weight"));
  require_input_error([&] { weights.find(at + "to_v.weight"); }, {at + "to_v.weight: no such tensor"});
}

TEST_CASE("the new name wins where a file has both") {
  const Scratch scratch;
  scratch.write(kSingle,
                file_of({{"m.attentions.0.to_q.bias", {1}, {1}}, {"m.attentions.0.query.bias", {1}, {2}}}));
  CHECK(read(WeightFiles(scratch.folder()), {"m.attentions.0.to_q.bias", {1}}) == std::vector<float>{1});
}

TEST_CASE("shards are found through their index") {
  const Scratch scratch;
  scratch.write("s1.safetensors", file_of({{"a", {1}, {1}}}));
  scratch.write("s2.safetensors", file_of({{"b", {1}, {2}}}));
  scratch.write(kIndex, R"({"weight_map":{"a":"s1.safetensors","b":"s2.safetensors","c":"s2.safetensors"}})");
  const WeightFiles weights(scratch.folder());
  CHECK(read(weights, {"a", {1}}) == std::vector<float>{1});
  CHECK(read(weights, {"b", {1}}) == std::vector<float>{2});
  require_input_error([&] { weights.find("c"); }, {"s2.safetensors: c: no such tensor"});
  require_input_error([&] { weights.find("d"); }, {kIndex, ": d: no such tensor"});
}

TEST_CASE("the fp16 variants are found, and the full one is preferred") {
  const Scratch scratch;
  scratch.write("diffusion_pytorch_model.safetensors.index.fp16.json", index_of("a", "s.safetensors"));
  scratch.write("s.safetensors", file_of({{"a", {1}, {3}}}));
  CHECK(read(WeightFiles(scratch.folder()), {"a", {1}}) == std::vector<float>{3});
  scratch.write("diffusion_pytorch_model.fp16.safetensors", file_of({{"a", {1}, {2}}}));
  CHECK(read(WeightFiles(scratch.folder()), {"a", {1}}) == std::vector<float>{2});
  scratch.write(kSingle, file_of({{"a", {1}, {1}}}));
  CHECK(read(WeightFiles(scratch.folder()), {"a", {1}}) == std::vector<float>{1});
}

TEST_CASE("an index may not lead out of its folder") {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "model");
  scratch.write("out.safetensors", file_of({{"a", {1}, {1}}}));
  const std::string outside = (scratch / "out.safetensors").string();
  for (const std::string& name :
       {std::string("../out.safetensors"), std::string(".."), std::string("."), outside,
        std::string("a/../../out.safetensors"), std::string(""), std::string("..\\out.safetensors"),
        std::string("out.bin"), std::string("out.safetensors\0", 16)}) {
    scratch.write("model/" + std::string(kIndex), index_of("a", name));
    CAPTURE(name);
    require_input_error([&] { WeightFiles{scratch / "model"}; }, {kIndex, "weight_map.a", "plain name"});
  }
}

TEST_CASE("indices that are not what they should be are refused") {
  const Scratch scratch;
  const auto refused = [&](const std::string& text, const std::vector<std::string>& parts) {
    scratch.write(kIndex, text);
    require_input_error([&] { WeightFiles{scratch.folder()}; }, parts);
  };
  refused("{", {kIndex, "not valid JSON"});
  refused("{}", {kIndex, "weight_map: missing"});
  refused(R"({"weight_map":[]})", {kIndex, "weight_map: expected an object"});
  refused(R"({"weight_map":{"a":1}})", {kIndex, "weight_map.a: expected a string"});
  refused(R"({"weight_map":{"a":"none.safetensors"}})", {"none.safetensors: no such file"});
}

TEST_CASE("folders without weights are refused") {
  const Scratch scratch;
  require_input_error([&] { WeightFiles{scratch.folder()}; }, {kSingle, "no such file"});
  require_input_error([&] { WeightFiles{scratch / "none"}; }, {"none: no such folder"});
}

}  // namespace
}  // namespace headroom
