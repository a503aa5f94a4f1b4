#include "decoder/files/output_format.h"

#include <catch2/catch.hpp>

#include "decoder/files/picture_sink.h"
#include "decoder/files/row_writer.h"
#include "tests/decoder/files/scratch.h"

namespace headroom {
namespace {

using test::require_input_error;
using test::Scratch;

TEST_CASE("output format: every suffix that is offered is written, and no other") {
  const PictureShape shape{.rows = 8, .columns = 8};
  const Scratch scratch;
  for (const std::string& suffix : output_suffixes()) {
    CAPTURE(suffix);
    if (suffix == ".webp" && !WebpWriter::is_built()) continue;
    const std::filesystem::path file = scratch / ("picture" + suffix);
    CHECK_NOTHROW(check_output(file, shape));
    CHECK_NOTHROW(open_sink(file, shape));
    CHECK(output_format(file) != OutputFormat::frame_folder);
    CHECK(has_quality(file) == (suffix == ".jpg" || suffix == ".jpeg" || suffix == ".webp"));
  }
  CHECK(output_format("frames") == OutputFormat::frame_folder);
  CHECK(output_format("frames/") == OutputFormat::frame_folder);
  CHECK_FALSE(has_quality("frames"));
  for (const std::string file : {"picture.gif", "picture.json", ""}) {
    CAPTURE(file);
    CHECK_FALSE(has_quality(file));
    require_input_error([&] { output_format(file); }, {"expected an output in .png, .jpg, .webp"});
  }
}

}  // namespace
}  // namespace headroom
