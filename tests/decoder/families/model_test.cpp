#include "decoder/graph/model.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <optional>

#include "decoder/families/built_in_models.h"
#include "decoder/families/load_model.h"
#include "decoder/operations/operation.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/refused_config.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using nlohmann::json;
using test::model_of;
using test::refuses;
using test::require_input_error;
using test::tiny_config;

json changed(const char* key, const json& value) {
  return test::changed(tiny_config(), key, value);
}

TEST_CASE("the built-in models have the parameters of diffusers'") {
  struct Expected {
    const char* name;
    const char* class_name;
    int64_t latent_channels;
    std::optional<double> scaling_factor;
    int64_t parameters;
    Axes<int32_t> scale;
    bool clips = false;
  };
  const std::vector<Expected> all{
      {"cogvideox", "AutoencoderKLCogVideoX", 16, 0.7, 123368451, {4, 8, 8}, true},
      {"cogvideox-2b", "AutoencoderKLCogVideoX", 16, 1.15258426, 123368451, {4, 8, 8}, true},
      {"flux", "AutoencoderKL", 16, 0.3611, 49545475, {1, 8, 8}},
      {"hunyuan-image-2.1", "AutoencoderKLHunyuanImage", 64, 0.75289, 260567939, {1, 32, 32}},
      {"hunyuan-image-3", "AutoencoderKLConv3D", 32, 0.562679178327931, 871332483, {1, 16, 16}},
      {"hunyuan-image-refiner",
       "AutoencoderKLHunyuanImageRefiner",
       32,
       1.03682,
       871309571,
       {1, 16, 16},
       true},
      {"hunyuan-video", "AutoencoderKLHunyuanVideo", 16, 0.476986, 146136339, {4, 8, 8}, true},
      {"hunyuan-video-1.5", "AutoencoderKLHunyuanVideo15", 32, 1.03682, 871309571, {4, 16, 16}, true},
      {"ltx-2", "AutoencoderKLLTX2Video", 128, 1, 528380720, {8, 32, 32}, true},
      {"ltx-2.3", "AutoencoderKLLTX2Video", 128, 1, 407169072, {8, 32, 32}, true},
      {"ltx-video", "AutoencoderKLLTXVideo", 128, 1, 238789296, {8, 32, 32}, true},
      {"ltx-video-0.9.5", "AutoencoderKLLTXVideo", 128, 1, 528419376, {8, 32, 32}, true},
      {"qwen-image", "AutoencoderKLQwenImage", 16, std::nullopt, 73295603, {4, 8, 8}, true},
      // Kernels over the time lie in the checkpoint, and no picture needs them.
      {"qwen-image-2.1", "AutoencoderKLQwenImage21", 64, std::nullopt, 259048212 - 5977728, {1, 16, 16}},
      {"sana-dc-ae-f32c32", "AutoencoderDC", 32, 0.41407, 159223171, {1, 32, 32}},
      {"sd15", "AutoencoderKL", 4, 0.18215, 49490199, {1, 8, 8}},
      {"sd3", "AutoencoderKL", 16, 1.5305, 49545475, {1, 8, 8}},
      {"sdxl", "AutoencoderKL", 4, 0.13025, 49490199, {1, 8, 8}},
      {"seedvr2", "VideoAutoencoderKLWrapper", 16, 0.9152, 150601731, {4, 8, 8}, true},
      {"taecvx", "TAEHV", 16, 1, 9844611, {4, 8, 8}, true},
      {"taehv1.5", "TAEHV", 32, 1, 9886668, {4, 16, 16}, true},
      {"taeltx2", "TAEHV", 128, 1, 10194160, {8, 32, 32}, true},
      {"taew2.1", "TAEHV", 16, 1, 9844611, {4, 8, 8}, true},
      {"taew2.2", "TAEHV", 48, 1, 9923532, {4, 16, 16}, true},
      {"svd", "AutoencoderKLTemporalDecoder", 4, 0.18215, 63579183, {1, 8, 8}, true},
      {"taef1", "AutoencoderTiny", 16, 1, 1222531 + 12 * 9 * 64, {1, 8, 8}},
      {"taef2", "AutoencoderTiny", 32, 1, 1338499, {1, 8, 8}},
      {"taesd", "AutoencoderTiny", 4, 1, 1222531, {1, 8, 8}},
      {"wan2.1", "AutoencoderKLWan", 16, std::nullopt, 73295603, {4, 8, 8}, true},
      {"wan2.1-upscale2x",
       "AutoencoderKLWan",
       16,
       std::nullopt,
       73295603 + 9 * (96 * 27 + 1),
       {4, 16, 16},
       true},
      {"wan2.2", "AutoencoderKLWan", 48, std::nullopt, 555051580, {4, 16, 16}, true}};
  for (const Expected& expected : all) {
    CAPTURE(expected.name);
    const Model model = resolve_model(expected.name);
    CHECK(model.name == expected.name);
    CHECK(model.class_name == expected.class_name);
    CHECK(model.latent_channels == expected.latent_channels);
    CHECK(model.graph.tensor(model.graph.input()).channels == expected.latent_channels);
    if (expected.scaling_factor) CHECK(model.scaling_factor == expected.scaling_factor);
    CHECK(parameter_elements(model.graph) == expected.parameters);
    CHECK(model.graph.tensor(model.graph.output()).scale == expected.scale);
    CHECK(model.decodes_clips == expected.clips);
  }
  // FLUX.2's two, MiniMax-H3's and Open-Sora-Plan's have tests of their own.
  CHECK(built_in_models().size() == all.size() + 4);
  CHECK(resolve_model("wan2.1").latents_std[8] == 3.2687);
  CHECK(resolve_model("qwen-image-2.1").latents_mean.size() == 64);
  CHECK(resolve_model("sdxl").force_upcast);
  CHECK_FALSE(resolve_model("sd15").force_upcast);
  CHECK(resolve_model("flux").shift_factor == 0.1159);
  CHECK(resolve_model("sd15").graph.find_op("post_quant_conv") != OpId{-1});
  CHECK(resolve_model("flux").graph.find_op("post_quant_conv") == OpId{-1});
}

TEST_CASE("FLUX.2: AutoencoderKL's blocks, with widths of the decoder's own where it has some") {
  const Model model = resolve_model("flux2");
  CHECK(model.class_name == "AutoencoderKLFlux2");
  CHECK(model.latent_channels == 32);
  CHECK(model.force_upcast);
  REQUIRE(model.latent_patches);
  CHECK(model.latent_patches->rows == 2);
  CHECK(model.latent_patches->columns == 2);
  CHECK(model.latent_patches->epsilon == 1e-4);
  CHECK(model.graph.tensor(model.graph.output()).scale == Axes<int32_t>{1, 8, 8});

  // All keys have defaults.
  const json bare = {{"_class_name", "AutoencoderKLFlux2"}};
  CHECK(parameter_elements(model_of(bare).graph) == parameter_elements(model.graph));
  json small = bare;
  small["decoder_block_out_channels"] = {96, 192, 384, 384};
  CHECK(model_of(small).graph.tensor(model_of(small).graph.ops()[1].output).channels == 384);
  CHECK(parameter_elements(model_of(small).graph) < parameter_elements(model.graph) * 6 / 10);

  const auto with = [&](const char* key, const json& value) {
    json config = bare;
    config[key] = value;
    return config;
  };
  refuses(with("decoder_block_out_channels", {96, 192}),
          {"up_block_types", "decoder_block_out_channels", "2", "4"});
  refuses(with("patch_size", {2}), {"patch_size"});
  refuses(with("patch_size", {0, 2}), {"patch_size[0]"});
  refuses(with("batch_norm_eps", -1), {"batch_norm_eps"});
}

TEST_CASE("attention and the post-quant convolution can be left out") {
  const Graph with = model_of(tiny_config()).graph;
  CHECK(with.find_op("decoder.mid_block.attentions.0.to_q") != OpId{-1});
  CHECK(with.find_op("post_quant_conv") != OpId{-1});
  const Graph no_attention = model_of(changed("mid_block_add_attention", false)).graph;
  CHECK(no_attention.find_op("decoder.mid_block.attentions.0.to_q") == OpId{-1});
  CHECK(no_attention.find_op("decoder.mid_block.resnets.1.conv1") != OpId{-1});
  const Graph no_post_quant = model_of(changed("use_post_quant_conv", false)).graph;
  CHECK(no_post_quant.find_op("post_quant_conv") == OpId{-1});
  CHECK(no_post_quant.op(no_post_quant.find_op("decoder.conv_in")).inputs[0] == no_post_quant.input());
}

TEST_CASE("act_fn is the blocks' activation, and the last norm's is always SiLU") {
  const auto [text, activation] = GENERATE(table<std::string, Activation>({{"silu", Activation::silu},
                                                                           {"swish", Activation::silu},
                                                                           {"relu", Activation::relu},
                                                                           {"gelu", Activation::gelu},
                                                                           {"mish", Activation::mish}}));
  CAPTURE(text);
  const Graph graph = model_of(changed("act_fn", text)).graph;
  CHECK(graph.op(graph.find_op("decoder.up_blocks.0.resnets.0.norm1")).activation == activation);
  CHECK(graph.op(graph.find_op("decoder.mid_block.attentions.0.group_norm")).activation == Activation::none);
  CHECK(graph.op(graph.find_op("decoder.conv_norm_out")).activation == Activation::silu);
}

TEST_CASE("widths and layers shape the graph") {
  json config = tiny_config({8, 16, 32});
  config["layers_per_block"] = 3;
  config["out_channels"] = 5;
  const Graph graph = model_of(config).graph;
  CHECK(graph.tensor(graph.output()).channels == 5);
  CHECK(graph.find_op("decoder.up_blocks.2.resnets.3.conv1") != OpId{-1});
  CHECK(graph.find_op("decoder.up_blocks.2.resnets.4.conv1") == OpId{-1});
  CHECK(graph.find_op("decoder.up_blocks.2.upsamplers.0.conv") == OpId{-1});
  // A shortcut stands where the width changes, and only there.
  CHECK(graph.find_op("decoder.up_blocks.1.resnets.0.conv_shortcut") != OpId{-1});
  CHECK(graph.find_op("decoder.up_blocks.1.resnets.1.conv_shortcut") == OpId{-1});
  CHECK(graph.find_op("decoder.up_blocks.0.resnets.0.conv_shortcut") == OpId{-1});
  const Op& shortcut = graph.op(graph.find_op("decoder.up_blocks.1.resnets.0.conv_shortcut"));
  CHECK(parameters_of(graph, shortcut)[0].shape == std::vector<int64_t>{16, 32, 1, 1});
}

TEST_CASE("the config's scaling of latents") {
  json config = changed("scaling_factor", 0.25);
  config["shift_factor"] = 0.125;
  config["latents_mean"] = {1, 2, 3, 4};
  config["latents_std"] = {0.5, 1, 1.5, 2};
  const Model model = model_of(config);
  CHECK(model.scaling_factor == 0.25);
  CHECK(model.shift_factor == 0.125);
  CHECK(model.latents_mean == std::vector<double>{1, 2, 3, 4});
  CHECK(model.latents_std == std::vector<double>{0.5, 1, 1.5, 2});
  CHECK(model.config_file == "config.json");
  config["shift_factor"] = nullptr;
  config["latents_mean"] = nullptr;
  CHECK(model_of(config).shift_factor == 0);
  CHECK(model_of(config).latents_mean.empty());
}

TEST_CASE("a value that is not supported is refused by its key") {
  refuses(changed("act_fn", "tanh"), {"config.json: act_fn", "tanh", "silu"});
  refuses(changed("up_block_types", {"UpDecoderBlock2D", "AttnUpDecoderBlock2D"}),
          {"up_block_types[1]", "AttnUpDecoderBlock2D"});
  refuses(changed("up_block_types", {"UpDecoderBlock2D"}), {"up_block_types", "2", "1"});
  refuses(changed("norm_num_groups", 3), {"block_out_channels[0]", "norm_num_groups = 3"});
  refuses(changed("scaling_factor", 0), {"scaling_factor", "other than 0"});
}

TEST_CASE("a class that is not supported is refused by its name, with those that are") {
  for (const char* name : {"AutoencoderKLMochi", "AutoencoderOobleck", "ConsistencyDecoderVAE", "VQModel",
                           "AutoencoderKLMagvit", "autoencodertiny", ""}) {
    std::vector<std::string> words = supported_classes();
    words.push_back("config.json: _class_name: '" + std::string(name) + "' is not supported; expected ");
    refuses(changed("_class_name", name), words);
  }
}

TEST_CASE("hostile configs of AutoencoderKL are refused by their key") {
  for (const json& value : {json("true"), json(1), json(), json::array()})
    refuses(changed("force_upcast", value), {"config.json: force_upcast", "expected true or false"});
  refuses(changed("block_out_channels", json::array()), {"block_out_channels", "at least one"});
  refuses(changed("up_block_types", json::array()), {"up_block_types"});
  refuses(changed("block_out_channels", {8, "16"}), {"block_out_channels[1]"});
  refuses(changed("block_out_channels", {8, json::array({16})}), {"block_out_channels[1]"});
  refuses(changed("block_out_channels", {8, -16}), {"block_out_channels[1]"});
  refuses(changed("block_out_channels", {8, int64_t{1} << 40}), {"block_out_channels[1]"});
  refuses(changed("act_fn", 3), {"act_fn", "expected a string"});
  refuses(changed("act_fn", json()), {"act_fn", "expected a string"});
  refuses(changed("scaling_factor", "1"), {"scaling_factor", "expected a number"});
  refuses(changed("shift_factor", json::array({1})), {"shift_factor", "expected a number"});
  refuses(changed("latents_std", {1, 2, 3, "4"}), {"latents_std[3]", "expected a number"});
  refuses(changed("_class_name", 7), {"_class_name", "expected a string"});
}

TEST_CASE("a config without a class, or that is no object, is refused") {
  json config = tiny_config();
  config.erase("_class_name");
  refuses(config, {"config.json: _class_name: missing"});
  for (const json& value : {json(), json(1), json("AutoencoderKL"), json::array({1})}) {
    refuses(value, {"config.json: expected an object"});
  }
  const auto parse = [](const std::string& text) { return [text] { parse_model(text, "config.json"); }; };
  require_input_error(parse(""), {"config.json: not valid JSON"});
  require_input_error(parse("{\"a\": 1e999}"), {"config.json: "});
  require_input_error(parse("{\"_class_name\": \"Auto"), {"config.json: not valid JSON"});
  require_input_error(parse(std::string(100000, '[')), {"config.json: nested deeper"});
  std::string nested = "1";
  for (int i = 0; i < 1000; ++i) nested = "{\"a\":" + nested + "}";
  require_input_error(parse(nested), {"config.json: nested deeper"});
}

TEST_CASE("a model is a folder or a built-in name") {
  const test::Scratch scratch;
  scratch.write("config.json", tiny_config().dump());
  const Model model = resolve_model(scratch.folder().string());
  CHECK(model.latent_channels == 4);
  CHECK(model.name == scratch.folder().filename().string());
  require_input_error([] { resolve_model("no-such-model"); }, {"--model no-such-model", "sd15", "sdxl"});
  std::filesystem::remove(scratch / "config.json");
  require_input_error([&] { resolve_model(scratch.folder().string()); }, {"config.json", "no such file"});
}

TEST_CASE("a model is named after the folder that was given, a pipeline's too") {
  const test::Scratch scratch;
  const auto write = [&](const std::string& folder) {
    std::filesystem::create_directories(scratch / (folder + "/vae"));
    scratch.write(folder + "/model_index.json", "{}");
    scratch.write(folder + "/vae/config.json", tiny_config().dump());
  };
  write("sd-turbo");
  CHECK(resolve_model(scratch / "sd-turbo").name == "sd-turbo");
  CHECK(resolve_model(scratch / "sd-turbo/").name == "sd-turbo");
  CHECK(resolve_model(scratch / "sd-turbo/vae/..").name == "sd-turbo");
  CHECK(resolve_model(scratch / "sd-turbo/vae").name == "vae");
  CHECK(resolve_model(scratch / "sd-turbo").config_file == scratch / "sd-turbo/vae/config.json");
}

TEST_CASE("a picture's size must be a multiple of the decoder's scale") {
  const Model model = resolve_model("sdxl");
  CHECK(latent_extent(model, 1360, 1544, 1) == Extent{1, 193, 170});
  CHECK(latent_extent(model, 8, 8, 1) == Extent{1, 1, 1});
  for (int64_t width : {int64_t{0}, int64_t{-8}, int64_t{9}, INT64_MAX, INT64_MIN, int64_t{1} << 40}) {
    require_input_error([&] { latent_extent(model, width, 8, 1); }, {"--size", "width", "multiple of 8"});
    require_input_error([&] { latent_extent(model, 8, width, 1); }, {"--size", "height", "multiple of 8"});
  }
  require_input_error([&] { latent_extent(model, 8, 8, 2); }, {"--frames"});
}

TEST_CASE("a size that does not do is refused with the nearest ones, for width and height") {
  const Model model = resolve_model("sdxl");
  const auto refuses = [&](int64_t width, int64_t height, const std::vector<std::string>& parts) {
    require_input_error([&] { latent_extent(model, width, height, 1); }, parts);
  };
  refuses(921, 1377, {"width", "found 921 (use 920 or 928) and", "height", "found 1377 (use 1376 or 1384)"});
  refuses(3, 8, {"found 3 (use 8)"});
  refuses(0, 8, {"found 0 (use 8)"});
  refuses(8, (1 << 20) + 1, {"up to 1048576", "(use 1048576)"});
  refuses(8, (1 << 20) - 1, {"(use 1048568 or 1048576)"});
}

TEST_CASE("a built-in name in any case is taken, and one that is nearly right suggests the model") {
  CHECK(resolve_model("SDXL").name == "sdxl");
  CHECK(resolve_model("Wan2.1").config_file == "wan2.1");
  const std::pair<const char*, const char*> taken[] = {{"sd1.5", "sd15"},
                                                       {"FLUX.1-dev", "flux"},
                                                       {"Z-Image", "flux"},
                                                       {"FLUX.2-dev", "flux2"},
                                                       {"flux2-small", "flux2-small-decoder"},
                                                       {"sd-xl", "sdxl"},
                                                       {"hunyuanvideo", "hunyuan-video"},
                                                       {"HunyuanVideo-1.5", "hunyuan-video-1.5"},
                                                       {"qwenimage", "qwen-image"},
                                                       {"ltx2", "ltx-2"}};
  for (const auto& [asked, name] : taken) {
    CAPTURE(asked);
    CHECK(resolve_model(asked).name == name);
    CHECK(resolve_model(asked).config_file == name);
  }
  const std::pair<const char*, const char*> meant[] = {
      {"sdxxl", "sdxl"}, {"qwen", "qwen-image"}, {"sana", "sana-dc-ae-f32c32"}};
  for (const auto& [asked, name] : meant) {
    CAPTURE(asked);
    CHECK(nearest_built_in(asked) == name);
    require_input_error(
        [asked = asked] { resolve_model(asked); },
        {"did you mean " + std::string(name) + "?", "expected a folder", "headroom-plan models"});
  }
  require_input_error([] { resolve_model("black-forest-labs/FLUX.2-dev"); },
                      {"no such folder", "hf download black-forest-labs/FLUX.2-dev",
                       "then --model FLUX.2-dev", "To plan without weights: --model flux2"});
  require_input_error([] { resolve_model("someone/else"); }, {"hf download someone/else", "--model else"});
  CHECK(nearest_built_in("my-pictures").empty());
  CHECK(nearest_built_in("").empty());
}

TEST_CASE("convolutions that are torch.nn.Linear in diffusers are linear, and no others") {
  const auto linear_of = [](const char* model) {
    std::vector<std::string> names;
    const Model known = resolve_model(model);
    for (const Op& op : known.graph.ops()) {
      if (op.convolution.linear) names.push_back(op.name);
    }
    return names;
  };
  const std::string attention = "decoder.mid_block.attentions.0.";
  const std::vector<std::string> kl{attention + "to_q", attention + "to_out.0"};
  for (const char* model : {"sdxl", "flux", "flux2", "hunyuan-video"}) {
    CAPTURE(model);
    CHECK(linear_of(model) == kl);
  }
  for (const char* model : {"wan2.1", "hunyuan-image-2.1", "hunyuan-video-1.5", "taesd"}) {
    CAPTURE(model);
    CHECK(linear_of(model).empty());
  }
  const std::vector<std::string> dc = linear_of("sana-dc-ae-f32c32");
  REQUIRE(!dc.empty());
  for (const std::string& name : dc) {
    CAPTURE(name);
    CHECK((name.ends_with(".attn.to_qkv") || name.ends_with(".attn.to_out")));
  }
}

}  // namespace
}  // namespace headroom
