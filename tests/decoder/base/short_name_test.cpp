#include "decoder/base/short_name.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>

#include "decoder/families/built_in_models.h"
#include "decoder/families/load_model.h"
#include "decoder/graph/model.h"

namespace headroom {
namespace {

TEST_CASE("names of a decoder's parts are short") {
  CHECK(short_name("decoder.up_blocks.3.resnets.1.conv1") == "up3.res1.conv1");
  CHECK(short_name("decoder.mid_block.attentions.0.to_out.0") == "mid.attn0.to_out0");
  CHECK(short_name("decoder.up_blocks.2.upsamplers.0.conv") == "up2.upsample0.conv");
  CHECK(short_name("decoder.up_blocks.2.1.attn.to_qkv") == "up2.1.attn.to_qkv");
  CHECK(short_name("decoder.mid_block.resnets.0.norm2.statistics") == "mid.res0.norm2.statistics");
}

TEST_CASE("a name that is no decoder's part is not changed") {
  for (const char* name : {"latent", "post_quant_conv", "conv_norm_out", "", "a..b"})
    CHECK(short_name(name) == name);
}

TEST_CASE("names within a text are short wherever they stand, and full ones are found") {
  CHECK(with_short_names("conv decoder.mid_block.resnets.0.conv2 halo 1") == "conv mid.res0.conv2 halo 1");
  CHECK(with_short_names("decoder.conv_in: decoder.conv_out, and no more.") ==
        "conv_in: conv_out, and no more.");
  CHECK(with_short_names("at decoder.conv_in.") == "at conv_in.");
  for (const char* text : {"/home/decoder.up/plan.json", "my-decoder.json", "vae.decoder.conv_in", "decoder.",
                           "decoder", "1.2 GiB", ""})
    CHECK(with_short_names(text) == text);
  CHECK(full_names("decoder.conv_in: decoder.up_blocks.0.resnets.1, no more.") ==
        std::vector<std::string>{"decoder.conv_in", "decoder.up_blocks.0.resnets.1"});
  CHECK(full_names("latent").empty());
}

TEST_CASE("no two names of a graph are shown alike") {
  for (const std::string& model : built_in_models()) {
    std::map<std::string, std::string> shown;
    const Graph graph = parse_model(*built_in_config(model), model).graph;
    const auto show = [&](const std::string& name) {
      const auto [seen, first] = shown.emplace(short_name(name), name);
      INFO(model << ": " << name << " and " << seen->second << " as " << seen->first);
      CHECK(seen->second == name);
    };
    for (const Op& op : graph.ops()) show(op.name);
    for (const Tensor& tensor : graph.tensors()) show(tensor.name);
  }
}

}  // namespace
}  // namespace headroom
