#include <catch2/catch.hpp>
#include <cmath>

#include "decoder/families/load_model.h"
#include "decoder/files/latent_file.h"
#include "decoder/files/npy.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::bytes_of;
using test::require_input_error;
using test::safetensors_bytes;
using test::Scratch;

/// A .npy file of this dictionary; `version` is 1 or 2.
std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  const std::string header = dictionary + "\n";
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(version), '\0'};
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  return bytes + header + data;
}

std::string dictionary(const std::string& descr, const std::string& shape,
                       const std::string& order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

const std::string kFour = bytes_of<float>({1, 2, 3, 4});

void require_refused(const std::string& bytes, std::vector<std::string> parts) {
  const Scratch scratch;
  const auto file = scratch.write("l.npy", bytes);
  parts.insert(parts.begin(), "l.npy: ");
  require_input_error([&] { read_latent(file); }, parts);
}

TEST_CASE("npy: versions, dtypes and ranks") {
  const Scratch scratch;
  const auto values = [&](const std::string& bytes) {
    return read_latent(scratch.write("l.npy", bytes)).values;
  };
  const std::vector<float> four = {1, 2, 3, 4};
  CHECK(values(npy(dictionary("<f4", "(1, 1, 2, 2)"), kFour)) == four);
  CHECK(values(npy(dictionary("<f4", "(1, 1, 2, 2)"), kFour, 2)) == four);
  CHECK(values(npy(dictionary("<f8", "(1, 1, 2, 2)"), bytes_of<double>({1, 2, 3, 4}))) == four);
  CHECK(values(npy(dictionary("<f2", "(1, 1, 2, 2)"),
                   bytes_of<uint16_t>({0x3c00, 0x4000, 0x4200, 0x4400}))) == four);
  CHECK(values(npy("{\"shape\":(1,1,2,2),\"descr\":\"<f4\",\"fortran_order\":False}", kFour)) == four);
  CHECK(read_latent(scratch.write("l.npy", npy(dictionary("<f4", "(1, 1, 1, 2, 2)"), kFour))).shape ==
        std::vector<int64_t>{1, 1, 1, 2, 2});
}

TEST_CASE("npy: files cut at any length are refused") {
  const std::string whole = npy(dictionary("<f4", "(1, 1, 2, 2)"), kFour);
  for (size_t length = 0; length < whole.size(); ++length) require_refused(whole.substr(0, length), {});
  require_refused(whole + "x", {"expected 16 bytes", "found 17"});
  const std::string second = npy(dictionary("<f4", "(1, 1, 2, 2)"), kFour, 2);
  for (size_t length = 0; length < second.size(); ++length) require_refused(second.substr(0, length), {});
}

TEST_CASE("npy: any one byte of the header may be anything") {
  const Scratch scratch;
  const std::string whole = npy(dictionary("<f4", "(1, 1, 2, 2)"), kFour);
  for (size_t i = 0; i < whole.size() - kFour.size(); ++i) {
    for (const char byte : {'\0', '\'', '{', '}', '(', ',', '9', '\xff'}) {
      std::string changed = whole;
      changed[i] = byte;
      try {
        read_latent(scratch.write("l.npy", changed));
      } catch (const InputError& error) {
        REQUIRE(std::string(error.what()).find('\n') == std::string::npos);
      }
    }
  }
}

TEST_CASE("npy: what is not supported is refused by name") {
  require_refused(npy(dictionary(">f4", "(1, 1, 2, 2)"), kFour), {"dtype", ">f4"});
  require_refused(npy(dictionary("<i4", "(1, 1, 2, 2)"), kFour), {"dtype", "<i4"});
  require_refused(npy(dictionary("|O", "(1, 1, 2, 2)"), kFour), {"dtype", "|O"});
  require_refused(npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1, 1, 2, 2)}", kFour),
                  {"dtype"});
  require_refused(npy(dictionary("<f4", "(1, 1, 2, 2)", "True"), kFour), {"fortran_order"});
  require_refused(npy(dictionary("<f4", "(1, 1, 2, 2)", "0"), kFour), {"'False'"});
  require_refused(npy(dictionary("<f4", "(2, 2)"), kFour), {"shape", "N×C×H×W", "[2, 2]"});
  require_refused(npy(dictionary("<f4", "()"), bytes_of<float>({1})), {"shape", "[]"});
  require_refused(npy(dictionary("<f4", "(1, 0, 2, 2)"), ""), {"shape", "positive", "[1, 0, 2, 2]"});
  require_refused(npy(dictionary("<f4", "(1, 1, 2, -2)"), kFour), {"shape"});
  require_refused(npy(dictionary("<f4", "(1, 1, 2, 99999999999999999999)"), kFour), {"shape"});
  require_refused(npy(dictionary("<f4", "(1, 1, 2, 2"), kFour), {"shape"});
  require_refused(npy(dictionary("<f4", "(1, 1, 2, 2)"), kFour, 3), {"version", "3.0"});
  require_refused(npy("{'descr': '<f4', 'shape': (1, 1, 2, 2)}", kFour), {"fortran_order"});
  require_refused(npy("{'descr': '<f4', 'descr': '<f4'}", kFour), {"descr"});
  require_refused(npy(dictionary("<f4", "(1, 1, 2, 2)") + "x", kFour), {"nothing after"});
  require_refused(npy(std::string(65535 - 1, ' '), ""), {"header"});
  require_refused("\x93NUMPX" + std::string(100, ' '), {"expected a .npy file"});
}

TEST_CASE("npy: a header's word alone allocates nothing") {
  require_refused(npy(dictionary("<f4", "(1048576, 1048576, 1024, 1)"), kFour), {"shape", "found 16"});
  require_refused(npy(dictionary("<f4", "(4294967296, 4294967296, 4, 4)"), kFour), {"more than 2^63"});
  require_refused(npy(dictionary("<f4", "(0, 4294967296, 4294967296, 4294967296)"), ""), {"shape"});
}

TEST_CASE("latents that are not finite are refused with their place") {
  require_refused(npy(dictionary("<f4", "(1, 1, 2, 2)"), bytes_of<float>({1, 2, NAN, 4})), {"element 2"});
  require_refused(npy(dictionary("<f2", "(1, 1, 1, 1)"), bytes_of<uint16_t>({0x7c00})), {"element 0"});
  require_refused(npy(dictionary("<f8", "(1, 1, 1, 2)"), bytes_of<double>({1, 1e300})), {"element 1"});
}

TEST_CASE("the header that is written can be read") {
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{1, 3, 8, 8}, {2, 3, 5, 8, 8}, {7}, {1, 3, 8192, 8192}}) {
    const std::string header = make_npy_header(shape);
    CHECK(header.size() % 64 == 0);
    int64_t bytes = 4;
    for (const int64_t extent : shape) bytes *= extent;
    const NpyHeader read = parse_npy_header(header, "x");
    CHECK(read.shape == shape);
    require_npy_size(read, static_cast<int64_t>(header.size()) + bytes, "x");
  }
}

TEST_CASE("safetensors: the only tensor or the one that is named") {
  const Scratch scratch;
  const auto file = scratch.write(
      "l.safetensors", safetensors_bytes(R"({"z":{"dtype":"F32","shape":[1,1,1,2],"data_offsets":[0,8]},)"
                                         R"("a:b":{"dtype":"F32","shape":[1,1,1,1],"data_offsets":[8,12]},)"
                                         R"("m":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}})",
                                         kFour));
  require_input_error([&] { read_latent(file.string()); },
                      {"l.safetensors: holds 3 tensors", "FILE.safetensors:NAME", "z, a:b, m"});
  CHECK(read_latent(file.string() + ":z").values == std::vector<float>{1, 2});
  CHECK(read_latent(file.string() + ":a:b").values == std::vector<float>{3});
  require_input_error([&] { read_latent(file.string() + ":m"); }, {"l.safetensors: m: shape"});
  require_input_error([&] { read_latent(file.string() + ":none"); }, {"l.safetensors: none: no such tensor"});
  require_input_error([&] { read_latent(file.string() + ":"); }, {"after the colon"});
  const auto empty = scratch.write("e.safetensors", safetensors_bytes("{}", ""));
  require_input_error([&] { read_latent(empty); }, {"e.safetensors: expected a tensor"});
}

TEST_CASE("safetensors: of many names the first few are named") {
  const Scratch scratch;
  std::string header = "{", data;
  for (int i = 0; i < 300; ++i) {
    const std::string at = std::to_string(4 * i), end = std::to_string(4 * i + 4);
    header += (i == 0 ? "\"" : ",\"") + std::string(200, 'x') + std::to_string(i) +
              R"(":{"dtype":"F32","shape":[1,1,1],"data_offsets":[)" + at + "," + end + "]}";
    data += bytes_of<float>({1});
  }
  const auto file = scratch.write("l.safetensors", safetensors_bytes(header + "}", data));
  try {
    read_latent(file);
    FAIL("taken");
  } catch (const InputError& error) {
    CHECK_THAT(error.what(), Catch::Contains("holds 300 tensors") && Catch::Contains("and 292 more"));
    CHECK(std::string(error.what()).size() < 2000);
  }
}

TEST_CASE("latents without the axis of a batch") {
  const Scratch scratch;
  const auto read = [&](const std::string& shape) {
    return read_latent(scratch.write("l.npy", npy(dictionary("<f4", shape), kFour)));
  };
  CHECK(read("(1, 2, 2)").shape == std::vector<int64_t>{1, 2, 2});
  Model pictures, clips;
  pictures.latent_channels = clips.latent_channels = 4;
  clips.decodes_clips = true;
  const auto shape_for = [](const Model& model, const std::vector<int64_t>& shape) {
    return with_batch_axis(model, {shape, {}}).shape;
  };
  using Shape = std::vector<int64_t>;
  CHECK(shape_for(pictures, {4, 5, 6}) == Shape{1, 4, 5, 6});
  CHECK(shape_for(pictures, {4, 3, 5, 6}) == Shape{4, 3, 5, 6});  // refused by who decodes it
  CHECK(shape_for(clips, {4, 5, 6}) == Shape{1, 4, 5, 6});
  CHECK(shape_for(clips, {4, 3, 5, 6}) == Shape{1, 4, 3, 5, 6});
  CHECK(shape_for(clips, {2, 4, 5, 6}) == Shape{2, 4, 5, 6});
  CHECK(shape_for(clips, {4, 4, 5, 6}) == Shape{4, 4, 5, 6});  // a batch of one frame each, as ever
  CHECK(shape_for(clips, {1, 4, 3, 5, 6}) == Shape{1, 4, 3, 5, 6});
}

TEST_CASE("ComfyUI's latents, and those of its first files") {
  const Scratch scratch;
  const std::string tensor = R"({"latent_tensor":{"dtype":"F32","shape":[1,1,2,2],"data_offsets":[0,16]})";
  const std::string version =
      R"(,"latent_format_version_0":{"dtype":"F32","shape":[0],"data_offsets":[16,16]})";
  const std::vector<float> four = {1, 2, 3, 4};
  for (const char* name : {"l.latent", "l.safetensors"}) {
    const StoredLatent latent =
        read_stored_latent(scratch.write(name, safetensors_bytes(tensor + version + "}", kFour)));
    CHECK(latent.from_comfyui);
    CHECK(latent.array.values == four);
  }
  const StoredLatent first =
      read_stored_latent(scratch.write("l.latent", safetensors_bytes(tensor + "}", kFour)));
  CHECK(first.array.values[3] == Approx(4 / 0.18215));
  const auto refuses = [&](const std::string& bytes, const std::vector<std::string>& parts) {
    require_input_error([&] { read_latent(scratch.write("l.latent", bytes)); }, parts);
  };
  refuses(safetensors_bytes("{}", ""), {"l.latent: expected ComfyUI's tensor latent_tensor, found none"});
  refuses(safetensors_bytes(R"({"z":{"dtype":"F32","shape":[1,1,2,2],"data_offsets":[0,16]}})", kFour),
          {"latent_tensor, found z"});
  refuses(safetensors_bytes(R"({"latent_tensor":{"dtype":"F32","shape":[1,1,65536,65536],)"
                            R"("data_offsets":[0,17179869184]}})",
                            kFour),
          {"l.latent: is incomplete"});
  refuses("PK", {"too short"});
}

TEST_CASE("missing files and other suffixes are refused") {
  const Scratch scratch;
  require_input_error([&] { read_latent((scratch / "none.npy").string()); }, {"none.npy: no such file"});
  require_input_error([&] { read_latent((scratch / "none.safetensors:x").string()); }, {"no such file"});
  require_input_error([&] { read_latent("latent.txt"); }, {"latent.txt", ".npy", ".safetensors", ".pt"});
  require_input_error([&] { read_latent(""); }, {".npy"});
}

TEST_CASE(
    "a tensor of ComfyUI's file is named as one of a .safetensors file is, and suffixes are taken in any "
    "case") {
  const Scratch scratch;
  const std::string nested = R"({"a":{"dtype":"F32","shape":[1,1,2,2],"data_offsets":[0,16]}})";
  const std::string file = scratch.write("nested.latent", safetensors_bytes(nested, kFour));
  CHECK(read_latent(file + ":a").values[3] == 4);
  CHECK(latent_file_of(file + ":a") == file);
  require_input_error([&] { read_latent(file + ":b"); }, {"b: no such tensor"});
  for (const char* name : {"L.SAFETENSORS", "l.sft"}) {
    const std::string other = scratch.write(name, safetensors_bytes(nested, kFour));
    CHECK(read_latent(other).values[3] == 4);
    CHECK(read_latent(other + ":a").values[0] == 1);
  }
}

using test::require_input_error;

TEST_CASE("packed latents are recognised, singly and in batches, with the call that unpacks them") {
  const auto is_packed = [](const char* model, const std::vector<std::vector<int64_t>>& shapes,
                            const char* part) {
    for (const std::vector<int64_t>& shape : shapes) {
      CAPTURE(model, shape);
      const std::string text = packed_latent(resolve_model(model), shape);
      CHECK_THAT(text, Catch::Contains(part) && Catch::Contains("Unpack it first: pipe._unpack_latents"));
      require_input_error([&] { require_latent_of(resolve_model(model), shape); }, {"is a packed"});
    }
  };
  is_packed("flux", {{1, 4096, 64}, {3, 4096, 64}, {1, 1, 384, 64}, {2, 1, 384, 64}},
            "is a packed FLUX latent");
  is_packed("flux2", {{1, 4096, 128}, {2, 24, 128}, {1, 1, 24, 128}},
            "FLUX.2 latent. Unpack it first: "
            "pipe._unpack_latents_with_ids");
  is_packed("qwen-image", {{1, 4096, 64}, {2, 6, 64}, {1, 1, 4096, 64}}, "Qwen-Image latent");
  is_packed("qwen-image-2.1", {{1, 4096, 64}}, "Qwen-Image latent");
  is_packed("ltx-2", {{1, 384, 128}, {2, 384, 128}, {1, 1, 384, 128}}, "LTX latent");
  is_packed("ltx-video", {{1, 384, 128}}, "latent_frames, latent_height, latent_width");
  is_packed("sd3", {{1, 384, 64}}, "packed");
  is_packed("hunyuan-image-2.1", {{1, 384, 256}}, "packed latent");
}

TEST_CASE("latents that are not packed are not taken for packed ones") {
  for (const auto& [model, shape] :
       std::vector<std::pair<const char*, std::vector<int64_t>>>{{"flux", {16, 64, 64}},
                                                                 {"flux", {1, 16, 64, 64}},
                                                                 {"flux", {1, 16, 128, 16}},
                                                                 {"flux2", {1, 128, 64, 128}},
                                                                 {"flux2", {1, 32, 64, 32}},
                                                                 {"wan2.1", {16, 1, 64, 64}},
                                                                 {"wan2.1", {1, 16, 3, 64, 64}},
                                                                 {"ltx-2", {1, 128, 1, 128}},
                                                                 {"sdxl", {1, 4, 16, 16}}}) {
    CAPTURE(model, shape);
    CHECK(packed_latent(resolve_model(model), shape).empty());
  }
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1, 16, 64, 64}, {1, 16, 1, 64, 64}})
    require_latent_of(resolve_model("flux"), shape);
}

TEST_CASE("a latent of other channels is refused with the models that have them") {
  const auto refuses = [](const char* model, const std::vector<int64_t>& shape,
                          const std::vector<std::string>& parts) {
    require_input_error([&] { require_latent_of(resolve_model(model), shape); }, parts);
  };
  refuses("flux", {1, 4, 6, 5}, {"shape (1, 4, 6, 5) has 4 channels (", "sdxl", "; flux decodes 16"});
  refuses("sdxl", {1, 16, 6, 5}, {"16 channels (", "flux", "wan2.1", "; sdxl decodes 4"});
  refuses("sdxl", {1, 7, 6, 5}, {"has 7 channels; sdxl decodes 4"});
  refuses("sdxl", {1, 4}, {"N×C×H×W"});
}

}  // namespace
}  // namespace headroom
