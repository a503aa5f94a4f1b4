#include "gui/view/whole_text.h"

#include <QApplication>
#include <QComboBox>
#include <QHelpEvent>
#include <QLineEdit>
#include <catch2/catch.hpp>

namespace headroom::gui {
namespace {

QString tooltip_of(QWidget& field) {
  QHelpEvent asked(QEvent::ToolTip, {}, {});
  QApplication::sendEvent(&field, &asked);
  return field.toolTip();
}

TEST_CASE("an input's tooltip has all of a text that it cannot show, and its explanation") {
  const QString path = "/a/long/way/to/a/folder/of/models/that/nobody/would/type/twice";
  QLineEdit line;
  line.resize(150, 24);
  explain_input(&line, "Which model.");
  CHECK(tooltip_of(line) == "Which model.");
  line.setText(path);
  CHECK(tooltip_of(line) == path + "\nWhich model.");
  line.resize(900, 24);
  CHECK(tooltip_of(line) == "Which model.");

  for (const bool editable : {false, true}) {
    QComboBox box;
    box.setEditable(editable);
    box.addItem(path);
    box.addItem("sdxl");
    box.resize(150, 24);
    explain_input(&box, "Which plan.");
    CHECK(tooltip_of(box) == path + "\nWhich plan.");
    box.setCurrentIndex(1);
    CHECK(tooltip_of(box) == "Which plan.");
  }
}

}  // namespace
}  // namespace headroom::gui
