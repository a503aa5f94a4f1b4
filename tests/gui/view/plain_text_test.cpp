// Texts of files are shown as they are: no window loads what a file names in a tag.

#include <QAbstractItemModel>
#include <QAbstractItemView>
#include <QComboBox>
#include <QLabel>
#include <QTextDocument>
#include <catch2/catch.hpp>

#include "gui/model/figure_text.h"
#include "gui/view/main_window.h"
#include "gui/view/message_bar.h"
#include "gui/view/plain_text.h"
#include "gui/view/screenshots.h"
#include "tests/gui/sample_files.h"

namespace headroom::gui {
namespace {

using test::open;
using test::sample_files;

constexpr const char* kTag = "<img src=pipe>";

/// Number of labels and tooltips with a file's text, and the ones that Qt would take for HTML.
struct Seen {
  int labels = 0, tooltips = 0;
  QStringList taken_for_html;
};

void look_at_tooltip(Seen& seen, const QString& where, const QString& text) {
  if (!text.contains("img src=pipe")) return;
  ++seen.tooltips;
  if (Qt::mightBeRichText(text) && text.contains(kTag)) seen.taken_for_html << where + ": " + text;
}

void look_at_model(Seen& seen, const QString& where, const QAbstractItemModel& model,
                   const QModelIndex& parent) {
  for (int row = 0; row < std::min(model.rowCount(parent), 60); ++row) {
    for (int column = 0; column < model.columnCount(parent); ++column)
      look_at_tooltip(seen, where, model.index(row, column, parent).data(Qt::ToolTipRole).toString());
    if (model.hasChildren(model.index(row, 0, parent)))
      look_at_model(seen, where, model, model.index(row, 0, parent));
  }
}

void look_at(Seen& seen, const QString& page, const QWidget& widget) {
  const QString where = page + "/" + widget.metaObject()->className() + " " + widget.objectName();
  look_at_tooltip(seen, where, widget.toolTip());
  if (const auto* label = qobject_cast<const QLabel*>(&widget)) {
    if (label->text().contains(kTag)) ++seen.labels;
    // Words beside a field are ours: forms make a label of them, which leads to the field.
    if (label->textFormat() != Qt::PlainText && !label->text().isEmpty() && label->buddy() == nullptr)
      seen.taken_for_html << where + ": " + label->text();
  }
  if (const auto* box = qobject_cast<const QComboBox*>(&widget))
    look_at_model(seen, where, *box->model(), {});
  if (const auto* view = qobject_cast<const QAbstractItemView*>(&widget)) {
    if (view->model() != nullptr) look_at_model(seen, where, *view->model(), {});
  }
}

std::string with_tags(std::string text, const std::string& model) {
  for (const std::string name : {HEADROOM_TEST_DATA "/demo_model", "two cores"}) {
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += 10)
      text.replace(at, name.size(), name == "two cores" ? kTag : model);
  }
  return text;
}

TEST_CASE("tags in files' texts and names are shown, not followed") {
  const test::Scratch scratch;
  const std::filesystem::path folder = scratch / kTag;
  std::filesystem::copy(HEADROOM_TEST_DATA "/demo_model", folder, std::filesystem::copy_options::recursive);
  QStringList files;
  for (const char* name : {"plan.json", "stats.json", "trace.json", "frontier.json"}) {
    const std::string text = test::read_bytes(sample_files().folder() / name);
    scratch.write(std::string(kTag) + name, with_tags(text, folder.string()));
    files << QString::fromStdString((scratch / (std::string(kTag) + name)).string());
  }
  scratch.write(std::string(kTag) + "bad.json", std::string("{\"schema\": \"") + kTag + "\"}");
  files << QString::fromStdString((scratch / (std::string(kTag) + "bad.json")).string());
  Workspace workspace;
  MainWindow window(workspace, {});
  window.resize(1280, 800);
  window.show();
  open(workspace, files);
  Seen seen;
  for (const Page* page : window.pages()) {
    window.showPage(page->key());
    wait_until_idle(window);
    for (const QWidget* widget : page->findChildren<QWidget*>()) look_at(seen, page->key(), *widget);
  }
  for (const QWidget* widget : window.findChildren<QWidget*>()) look_at(seen, "window", *widget);
  CHECK(seen.labels > 0);
  CHECK(seen.tooltips > 0);
  for (const QString& found : seen.taken_for_html) FAIL_CHECK(found.toStdString());
}

TEST_CASE("a label and a tooltip show tags as they are") {
  const PlainLabel label(QString("<b>bold</b>"));
  CHECK(label.textFormat() == Qt::PlainText);
  CHECK(plain_tooltip("two\nlines") == "two\nlines");
  CHECK_FALSE(plain_tooltip(kTag).contains(kTag));
  QTextDocument shown;
  shown.setHtml(plain_tooltip(kTag));
  CHECK(shown.toPlainText() == kTag);
}

}  // namespace
}  // namespace headroom::gui
