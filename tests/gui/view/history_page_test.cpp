#include "gui/view/history_page.h"

#include <QComboBox>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <catch2/catch.hpp>

#include "gui/view/chart_view.h"
#include "gui/view/input_fields.h"
#include "gui/view/main_window.h"
#include "gui/view/message_bar.h"
#include "gui/view/request_form.h"
#include "gui/view/screenshots.h"
#include "gui/view/table_view.h"
#include "tests/gui/support/shown.h"

namespace headroom::gui {
namespace {

using test::sample_files;
using test::wait_until;
using ShownHistory = test::ShownPage<HistoryPage>;

const QString kSnapshot = HEADROOM_TEST_DATA "/memory_histories/torch-2.11.pickle";
const QString kWithoutRefusal = HEADROOM_TEST_DATA "/memory_histories/sdxl-384x256.pickle";

std::string text_at(const TableView& view, size_t row, size_t column) {
  return std::get<std::string>(view.table().rows.at(row).cells.at(column));
}

PlanningQuestion small_question() {
  PlanningQuestion question;
  question.request = sample_files().plan().plan.request;
  question.request.model = HEADROOM_TEST_DATA "/demo_model";
  return question;
}

TEST_CASE("history page: shows the peak first, then the moment under the cursor, and who asked last") {
  ShownHistory shown({kSnapshot});
  HistoryPage& page = shown.page;
  auto& modules = *page.findChild<TableView*>("modules");
  auto& tensors = *page.findChild<TableView*>("tensors");
  const auto& caption = *page.findChild<QLabel*>("caption");
  CHECK_THAT(caption.text().toStdString(), Catch::EndsWith("387.4 MiB"));
  CHECK(tensors.table().rows.size() == 4);
  CHECK(text_at(tensors, 0, 0) == "resnet.py:341 forward");
  CHECK_THAT(text_at(modules, 0, 0), Catch::EndsWith("resnet.py:forward / group_norm"));
  CHECK(tensors.isVisible());  // the first tab
  CHECK_FALSE(modules.isVisible());
  const std::string words = page.findChild<QLabel*>("words")->text().toStdString();
  CHECK_THAT(words, Catch::Contains("387.4 MiB allocated of 524.0 MiB reserved") &&
                        Catch::Contains("upsampling.py:170 forward (interpolate) asked for 512.0 MiB") &&
                        Catch::Contains("The largest free block had 16.6 MiB"));

  // A click on a row shows the whole stack of its tensors.
  const auto& stack = *page.findChild<QPlainTextEdit*>("whole-stack");
  CHECK(stack.toPlainText().isEmpty());
  tensors.chooseRow(0);
  CHECK_THAT(stack.toPlainText().toStdString(),
             Catch::Contains("resnet.py:341 forward\n") && Catch::Contains("autoencoder_kl.py"));

  page.goToLastRequest();
  CHECK(stack.toPlainText().isEmpty());
  CHECK_THAT(caption.text().toStdString(), Catch::EndsWith("131.4 MiB"));
  CHECK(tensors.table().rows.size() == 2);
  auto& chart = *page.findChild<ChartView*>();
  Q_EMIT chart.cursorMoved(0);
  CHECK(tensors.table().rows.size() < 2);
  page.goToPeak();
  CHECK_THAT(caption.text().toStdString(), Catch::EndsWith("387.4 MiB"));
  CHECK(page.exports().size() >= 3);
}

TEST_CASE("history page: what Headroom would need is of a decoder that somebody chose") {
  ShownHistory shown;
  HistoryPage& page = shown.page;
  Workspace& workspace = shown.workspace;
  RequestForm form(workspace);
  workspace.open({kSnapshot});
  wait_until([&] { return !workspace.busy() && workspace.question().request.width_pixels > 0; });
  shown.rest();
  CHECK(page.findChild<TableView*>("need-table")->table().rows.empty());
  CHECK(workspace.question().request.device == DeviceKind::cuda);  // that of the recording
  auto& width = *form.findChild<QSpinBox*>("width");
  width.setValue(256);
  width.setValue(512);
  wait_until([&] { return workspace.question().request.width_pixels == 512 && !page.busy(); });
  CHECK_FALSE(page.findChild<TableView*>("need-table")->table().rows.empty());
}

TEST_CASE("history page: a few fields at first, the others by a button or where one has an error") {
  ShownHistory shown({kSnapshot});
  const auto visible = [&](const char* name) {
    return shown.page.findChild<RequestForm*>()->findChild<QWidget*>(name)->isVisible();
  };
  for (const char* name : {"model", "width", "device", "dtype"}) CHECK(visible(name));
  for (const char* name : {"frames", "thrift", "host-limit", "profile"}) CHECK_FALSE(visible(name));
  auto& all = *shown.page.findChild<QPushButton*>("all-fields");
  all.click();
  for (const char* name : {"frames", "thrift", "host-limit", "profile"}) CHECK(visible(name));
  CHECK_FALSE(visible("scratch"));  // the recording is of a GPU
  all.click();
  CHECK_FALSE(visible("frames"));
  shown.child<QSpinBox>("frames").setValue(5);
  wait_until([&] { return visible("frames"); });
}

TEST_CASE("history page: what Headroom needs is worked out for the question, on its device") {
  ShownHistory shown;
  HistoryPage& page = shown.page;
  Workspace& workspace = shown.workspace;
  PlanningQuestion question = small_question();
  question.request.device = DeviceKind::cuda;
  workspace.ask(question);
  CHECK_FALSE(page.busy());  // there is nothing for it to stand beside
  shown.open({kSnapshot});
  const auto& need = *page.findChild<QLabel*>("need");
  CHECK_THAT(need.text().toStdString(), Catch::StartsWith("Headroom decodes") &&
                                            Catch::Contains(" on cuda") &&
                                            Catch::Contains("Within the 600.0 MiB that PyTorch had"));
  CHECK(page.findChild<TableView*>("need-table")->table().rows.size() >= 3);

  page.findChild<RequestForm*>()->findChild<QComboBox*>("device")->setCurrentIndex(0);
  wait_until([&] { return workspace.question().request.device == DeviceKind::cpu && !page.busy(); });
  CHECK_THAT(need.text().toStdString(), Catch::Contains(" on cpu within"));

  shown.open({kWithoutRefusal});
  CHECK(workspace.question().request.device == DeviceKind::cpu);  // what the user chose stays
  CHECK_THAT(page.findChild<QLabel*>("words")->text().toStdString(), Catch::Contains("No request failed."));

  PlanningQuestion unknown = small_question();
  unknown.request.model = "no-such-model";
  workspace.ask(unknown);
  shown.rest();
  CHECK_THAT(need.text().toStdString(), Catch::Contains("no-such-model"));
}

TEST_CASE(
    "history page: the first model is one of the class that decoded, and another class is not compared") {
  test::ShownWindow shown;
  MainWindow& window = shown.window;
  Workspace& workspace = shown.workspace;
  workspace.open({HEADROOM_TEST_DATA "/memory_histories/wan2.1-128x128-9-frames.pickle"});
  wait_until_idle(window);
  CHECK(workspace.question().request.model.starts_with("wan"));
  PlanningQuestion other = small_question();
  workspace.ask(other);
  wait_until_idle(window);
  CHECK_THAT(window.currentPage()->findChild<QLabel*>("need")->text().toStdString(),
             Catch::Contains("The recording is of AutoencoderKLWan"));
  CHECK(window.currentPage()->findChild<TableView*>("need-table")->table().rows.empty());
}

TEST_CASE("history page: a fault stays said when another device is looked at") {
  ShownHistory shown;
  HistoryPage& page = shown.page;
  Workspace& workspace = shown.workspace;
  shown.open({HEADROOM_TEST_DATA "/memory_histories/autoencoder-kl.pickle"});
  PlanningQuestion unknown = small_question();
  unknown.request.model = "no-such-model";
  workspace.ask(unknown);
  shown.rest();
  const auto& need = *page.findChild<QLabel*>("need");
  REQUIRE_THAT(need.text().toStdString(), Catch::Contains("no-such-model"));
  auto& devices = *page.findChild<QComboBox*>("device");
  REQUIRE(devices.count() == 2);
  devices.setCurrentIndex(1 - devices.currentIndex());
  shown.rest();
  CHECK_THAT(need.text().toStdString(), Catch::Contains("no-such-model"));
}

TEST_CASE("history page: a snapshot leads to its page, a hostile one to a line in the bar") {
  test::ShownWindow shown;
  MainWindow& window = shown.window;
  Workspace& workspace = shown.workspace;
  workspace.open({kSnapshot});
  wait_until_idle(window);
  CHECK(window.currentPage()->key() == "history");
  // Nobody has chosen a decoder, also not once the forms have read their fields.
  CHECK(window.currentPage()->findChild<QLabel*>("need")->text() ==
        "Choose the decoder and the size of the picture.");
  const test::Scratch scratch;
  const std::string command = "touch " + (scratch / "executed").string();
  const auto file = scratch.write("bad.pickle",
                                  "\x80\x02"
                                  "cposix\nsystem\nU" +
                                      std::string(1, static_cast<char>(command.size())) + command + "\x85R.");
  workspace.open({QString::fromStdString(file.string())});
  wait_until([&] { return !window.busy(); });
  REQUIRE(window.messages().messages().size() == 1);
  CHECK_THAT(window.messages().messages()[0].toStdString(),
             Catch::Contains("bad.pickle: the snapshot: expected a dict, found a call of posix.system"));
  CHECK_FALSE(std::filesystem::exists(scratch / "executed"));
  CHECK(workspace.documents().size() == 1);
}

}  // namespace
}  // namespace headroom::gui
