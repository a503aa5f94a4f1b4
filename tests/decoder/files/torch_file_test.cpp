#include "decoder/files/torch_file.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "decoder/files/latent_file.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::require_input_error;
using test::Scratch;

const std::string kFolder = HEADROOM_TEST_DATA "/torch/";

/// The values that tests/reference/make_torch_files.py saved.
std::vector<float> saved_values() {
  std::vector<float> values;
  for (int i = 0; i < 24; ++i) values.push_back(static_cast<float>(i) / 8 - 1);
  return values;
}

void check_saved(const std::string& argument) {
  CAPTURE(argument);
  const Array latent = read_latent(kFolder + argument);
  CHECK(latent.shape == std::vector<int64_t>{1, 2, 3, 4});
  CHECK(latent.values == saved_values());
}

TEST_CASE("torch: tensors of every dtype, with strides, as parameters, in dicts and lists") {
  for (const char* file : {"float32.pt", "float16.pt", "bfloat16.pt", "float64.pt", "strided.pt",
                           "parameter.pt", "list.pt", "list.pt:0", "dict.pt:latents"})
    check_saved(file);
  CHECK(read_latent(kFolder + "dict.pt:noise").values.back() == -saved_values().back());
}

TEST_CASE("torch: what is no latent is refused by name, with the way out") {
  const auto refuses = [](const std::string& argument, const std::vector<std::string>& parts) {
    CAPTURE(argument);
    require_input_error([&] { read_latent(kFolder + argument); }, parts);
  };
  refuses("dict.pt", {"dict.pt: holds 2 tensors", "FILE.pt:NAME", "latents, noise"});
  refuses("dict.pt:none", {"dict.pt: none: no such tensor", "latents, noise"});
  refuses("dict.pt:", {"after the colon"});
  refuses("float32.pt:latents", {"saved alone"});
  refuses("integers.pt", {"dtype", "torch.IntStorage", "float32"});
  refuses("text.pt", {"expected a tensor", "found a string", "torch.save(latent"});
  refuses("older_format.pt", {"zip archive", "load and save them again"});
  refuses("none.pt", {"no such file"});
}

TEST_CASE("torch: files cut anywhere, or with any byte changed, are read or refused in a line") {
  const Scratch scratch;
  for (const char* name : {"float16.pt", "dict.pt"}) {
    const std::string whole = test::read_bytes(kFolder + name);
    const auto attempt = [&](const std::string& bytes) {
      const std::string file = scratch.write("l.pt", bytes);
      try {
        read_latent(file + ":latents");
      } catch (const InputError& error) {
        CHECK(std::string(error.what()).find('\n') == std::string::npos);
      }
    };
    for (size_t length = 0; length < whole.size(); length += 3) attempt(whole.substr(0, length));
    for (size_t i = 0; i < whole.size(); ++i) {
      for (const char byte : {'\0', '\xff', 'P'}) {
        std::string changed = whole;
        changed[i] = byte;
        attempt(changed);
      }
    }
  }
}

/// `whole` with the 8 bytes of `number` in place of the first `width` of them at each place of `before`.
std::string with_number(std::string whole, const std::string& before, size_t offset, uint64_t number,
                        size_t width) {
  const size_t at = whole.rfind(before);
  REQUIRE(at != std::string::npos);
  std::memcpy(whole.data() + at + offset, &number, width);
  return whole;
}

TEST_CASE("torch: sizes that an archive claims allocate nothing") {
  const Scratch scratch;
  const std::string whole = test::read_bytes(kFolder + "float32.pt");
  const auto refuses = [&](const std::string& bytes, const std::vector<std::string>& parts) {
    require_input_error([&] { read_latent(scratch.write("l.pt", bytes)); }, parts);
  };
  const std::string end = "PK\x05\x06", zip64 = "PK\x06\x06", entry = "PK\x01\x02";
  const uint64_t huge = 0x7fffffffffffffff;
  const bool has_zip64 = whole.find(zip64) != std::string::npos;
  if (has_zip64) {
    refuses(with_number(whole, zip64, 40, huge, 8), {"zip archive", "outside"});
    refuses(with_number(whole, zip64, 48, huge, 8), {"zip archive", "outside"});
    refuses(with_number(whole, "PK\x06\x07", 8, huge, 8), {"zip archive", "outside"});
  } else {
    refuses(with_number(whole, end, 12, 0x7fffffff, 4), {"zip archive", "outside"});
    refuses(with_number(whole, end, 16, 0x7fffffff, 4), {"zip archive", "outside"});
  }
  refuses(with_number(whole, entry, 42, 0x7fffffff, 4), {"zip archive", "outside"});
  std::string longer = with_number(whole, entry, 20, 0x7ffffff0, 4);
  refuses(with_number(longer, entry, 24, 0x7ffffff0, 4), {"zip archive", "outside"});
  refuses(with_number(whole, entry, 24, 0x7ffffff0, 4), {"compressed"});
  refuses(with_number(whole, entry, 10, 8, 2), {"compressed"});
  refuses(with_number(whole, entry, 8, 1, 2), {"encrypted"});
}

}  // namespace
}  // namespace headroom
