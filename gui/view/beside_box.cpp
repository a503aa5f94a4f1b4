#include "gui/view/beside_box.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QSignalBlocker>

#include "gui/model/figure_text.h"
#include "gui/view/plain_text.h"

namespace headroom::gui {

BesideBox::BesideBox(Workspace& workspace, bool traces, QWidget* parent)
    : QWidget(parent), workspace_(workspace), traces_(traces), box_(new QComboBox(this)) {
  box_->setObjectName(QStringLiteral("beside"));
  box_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  auto* label = new PlainLabel(tr("Open &beside"), this);
  label->setBuddy(box_);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins({});
  row->addWidget(label);
  row->addWidget(box_);
  connect(&workspace_, &Workspace::documentsChanged, this, &BesideBox::list);
  connect(box_, &QComboBox::activated, this,
          [this](int at) { workspace_.showBeside(listed_[static_cast<size_t>(at)]); });
  list();
}

void BesideBox::list() {
  const reports::DocumentPtr plan = workspace_.chosen<reports::PlanDocument>(),
                             trace = workspace_.chosen<RecordedTrace>();
  const QSignalBlocker quiet(box_);
  box_->clear();
  box_->addItem(tr("nothing else"));
  listed_ = {nullptr};
  for (const reports::DocumentPtr& document : workspace_.documents()) {
    const bool offered = document->as<reports::PlanDocument>() != nullptr ||
                         (traces_ && document->as<RecordedTrace>() != nullptr);
    if (!offered || document == plan || document == trace) continue;
    listed_.push_back(document);
    box_->addItem(Workspace::titleOf(*document));
    box_->setItemData(box_->count() - 1, plain_tooltip(QString::fromStdString(document->file.string())),
                      Qt::ToolTipRole);
    if (document == workspace_.beside()) box_->setCurrentIndex(box_->count() - 1);
  }
  setVisible(listed_.size() > 1);
}

}  // namespace headroom::gui
