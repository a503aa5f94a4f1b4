#include "gui/model/figure_text.h"

#include <catch2/catch.hpp>

#include "gui/model/table_model.h"

namespace headroom::gui {
namespace {

TEST_CASE("figure text: layers have their short names wherever they stand") {
  CHECK(with_short_names("decoder.up_blocks.3.resnets.1.conv1") == "up3.res1.conv1");
  CHECK(with_short_names("conv decoder.mid_block.resnets.0.conv2 halo 1") == "conv mid.res0.conv2 halo 1");
  CHECK(with_short_names("decoder.conv_in: decoder.conv_out, and no more.") ==
        "conv_in: conv_out, and no more.");
  CHECK(with_short_names("at decoder.conv_in.") == "at conv_in.");
  // What is no layer stays.
  for (const QString text : {"/home/decoder.up/plan.json", "my-decoder.json", "decoder", "1.2 GiB", ""})
    CHECK(with_short_names(text) == text);
  CHECK(figure_text("decoder.up_blocks.0.upsamplers.0.conv") == "up0.upsample0.conv");
}

TEST_CASE("table model: a cell shows the short name, its tooltip the full one") {
  reports::Table table;
  table.columns = {{.title = "layer", .is_text = true}};
  table.rows = {{{std::string("decoder.up_blocks.3.resnets.1.conv1")}, false},
                {{std::string("weights")}, false}};
  TableModel model;
  model.setTable(table);
  CHECK(model.index(0, 0).data().toString() == "up3.res1.conv1");
  CHECK(model.index(0, 0).data(Qt::ToolTipRole).toString() == "decoder.up_blocks.3.resnets.1.conv1");
  CHECK(model.index(1, 0).data(Qt::ToolTipRole).toString() == "weights");
}

}  // namespace
}  // namespace headroom::gui
