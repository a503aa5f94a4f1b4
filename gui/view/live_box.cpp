#include "gui/view/live_box.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/model/figure_text.h"
#include "gui/view/plain_label.h"
#include "gui/view/table_view.h"

namespace headroom::gui {

LiveBox::LiveBox(const QString& name, QWidget* parent)
    : QWidget(parent),
      caption_(new PlainLabel(this)),
      chooser_(new QComboBox(this)),
      stack_(new QStackedWidget(this)),
      live_(new TableView(stack_)),
      gpu_(new TableView(stack_)) {
  live_->setObjectName(name);
  gpu_->setObjectName(name + QStringLiteral("-gpu"));
  caption_->setWordWrap(true);
  chooser_->setAccessibleName(tr("What is shown"));
  chooser_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  stack_->addWidget(live_);
  stack_->addWidget(gpu_);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  auto* row = new QHBoxLayout;  // one row saves height
  row->addWidget(caption_, 1);
  row->addWidget(chooser_);
  column->addLayout(row);
  column->addWidget(stack_, 1);
  connect(chooser_, &QComboBox::currentIndexChanged, this, &LiveBox::showChosen);
  showGpu({});
}

void LiveBox::showLive(const QString& caption, const reports::Table& live) {
  caption_->setText(caption);
  live_->setTable(live);
}

void LiveBox::showGpu(std::vector<reports::Table> tables) {
  tables_ = std::move(tables);
  const QSignalBlocker quiet(chooser_);
  const QString before = chooser_->currentText();
  chooser_->clear();
  chooser_->addItem(tr("On the device at the cursor"));
  for (const reports::Table& table : tables_) chooser_->addItem(figure_text(table.title));
  chooser_->setCurrentIndex(std::max(chooser_->findText(before), 0));
  chooser_->setVisible(!tables_.empty());
  showChosen();
}

void LiveBox::showChosen() {
  const int chosen = chooser_->currentIndex();
  stack_->setCurrentIndex(chosen > 0 ? 1 : 0);
  gpu_->setTable(chosen > 0 ? tables_[static_cast<size_t>(chosen) - 1] : reports::Table{});
}

std::vector<Export> LiveBox::exports(const QString& word) const {
  std::vector<Export> all{live_->exporter(tr("%1, live set").arg(word))};
  for (const reports::Table& table : tables_) all.push_back(csv_of(table, figure_text(table.title)));
  return all;
}

}  // namespace headroom::gui
