#include "gui/model/figure_text.h"

#include <catch2/catch.hpp>

#include "gui/model/table_model.h"
#include "gui/view/window_settings.h"

namespace headroom::gui {
namespace {

TEST_CASE("figure text: layers have their short names wherever they stand") {
  CHECK(with_short_names("decoder.up_blocks.3.resnets.1.conv1") == "up3.res1.conv1");
  CHECK(with_short_names("conv decoder.mid_block.resnets.0.conv2 halo 1") == "conv mid.res0.conv2 halo 1");
  CHECK(with_short_names("decoder.conv_in: decoder.conv_out, and no more.") ==
        "conv_in: conv_out, and no more.");
  CHECK(with_short_names("at decoder.conv_in.") == "at conv_in.");
  // Text that names no layer stays.
  for (const QString text : {"/home/decoder.up/plan.json", "my-decoder.json", "decoder", "1.2 GiB", ""})
    CHECK(with_short_names(text) == text);
  CHECK(figure_text("decoder.up_blocks.0.upsamplers.0.conv") == "up0.upsample0.conv");
}

TEST_CASE("figure text: full names are found in their order, and names of calls are no words") {
  CHECK(full_names("decoder.conv_in: decoder.conv_out, and no more.") ==
        QStringList{"decoder.conv_in", "decoder.conv_out"});
  CHECK(full_names("conv_in").isEmpty());
  Language language;
  language.use("zh_CN");
  CHECK(figure_text("vae.py:forward / conv") == "vae.py:forward / conv");
  CHECK(figure_text("conv 3x3 4->8") != "conv 3x3 4->8");
  language.use("en");
}

TEST_CASE("table model: in another language the tooltip has the words and, below, the full names") {
  Language language;
  language.use("zh_CN");
  reports::Table table;
  table.columns = {{.title = "layer", .is_text = true}};
  table.rows = {{{std::string("conv decoder.up_blocks.3.resnets.1.conv1")}, false}};
  TableModel model;
  model.setTable(table);
  CHECK(model.index(0, 0).data().toString() == "卷积 up3.res1.conv1");
  CHECK(model.index(0, 0).data(Qt::ToolTipRole).toString() ==
        "卷积 up3.res1.conv1\ndecoder.up_blocks.3.resnets.1.conv1");
  language.use("en");
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
