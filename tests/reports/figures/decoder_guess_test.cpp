#include "reports/figures/decoder_guess.h"

#include <catch2/catch.hpp>

#include "decoder/families/load_model.h"
#include "reports/figures/document.h"
#include "reports/figures/history.h"

namespace headroom::reports {
namespace {

DecoderGuess guess_of(const std::string& file, const std::string& device = "",
                      const std::optional<Model>& model = {}) {
  const DocumentPtr document = read_document(HEADROOM_TEST_DATA "/memory_histories/" + file, "");
  const auto& history = *document->as<profiler::MemoryHistory>();
  return guess_decoder(history, device_of(history, device), model);
}

TEST_CASE("decoder guess: class, size and dtype of real decoders' recordings") {
  const DecoderGuess half = guess_of("autoencoder-kl.pickle", "cuda:0");
  CHECK(half.class_name == "AutoencoderKL");
  REQUIRE(half.fits.size() == 1);
  CHECK(words_of(half.fits[0]) == "sdxl 1024x1024 bf16 or fp16");
  CHECK(half.fits[0].same_decoder == std::vector<std::string>{"sd15"});

  const DecoderGuess small = guess_of("sdxl-384x256.pickle");
  REQUIRE(small.fits.size() == 1);
  // The models share their layers; its usual size is nearer.
  CHECK(words_of(small.fits[0]) == "sd15 384x256 fp32");

  const DecoderGuess clip = guess_of("wan2.1-128x128-9-frames.pickle");
  REQUIRE(clip.fits.size() == 1);
  CHECK(words_of(clip.fits[0]) == "wan2.1 128x128 9 frames fp32");
  CHECK(clip.fits[0].frames_known);
}

TEST_CASE("decoder guess: sizes that fit alike are listed, and none of them is taken") {
  const DecoderGuess alike = guess_of("autoencoder-kl.pickle", "cuda:1");
  REQUIRE(alike.fits.size() == 2);
  CHECK(words_of(alike.fits[0]) == "sdxl 1152x896 fp32");
  CHECK(words_of(alike.fits[1]) == "sdxl 1344x768 fp32");
  REQUIRE(guess_sentences(alike).size() == 1);
  CHECK_THAT(guess_sentences(alike)[0],
             Catch::Contains("fit alike") && Catch::Contains("--model, --size and --dtype"));
}

TEST_CASE("decoder guess: what is not recognised says what it saw and how to name it") {
  const DecoderGuess none = guess_of("torch-2.11.pickle");
  CHECK(none.class_name == "AutoencoderKL");
  CHECK(none.fits.empty());
  CHECK_THAT(guess_sentences(none).at(0), Catch::Contains("the size was not recognised"));
}

TEST_CASE("decoder guess: a model that is named is held against the recording") {
  const Model demo = resolve_model(HEADROOM_TEST_DATA "/demo_model");
  const DecoderGuess other = guess_of("wan2.1-128x128-9-frames.pickle", "", demo);
  CHECK(other.fits.empty());
}

}  // namespace
}  // namespace headroom::reports
