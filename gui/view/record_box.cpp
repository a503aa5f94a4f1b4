#include "gui/view/record_box.h"

#include <QClipboard>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/model/workspace.h"
#include "gui/view/drop_area.h"
#include "gui/view/plain_text.h"

namespace headroom::gui {

QString recording_lines() {
  return QStringLiteral(
      "torch.cuda.memory._record_memory_history(max_entries=200000, stacks=\"python\")\n"
      "try: image = vae.decode(latent).sample\n"
      "finally: torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")");
}

RecordBox::RecordBox(Workspace& workspace, QWidget* parent) : QWidget(parent) {
  auto* words = paragraph(this);
  words->setText(
      tr("Put these three lines around the decode. The last one writes a snapshot of PyTorch's "
         "memory, also if the decode fails."));
  auto* code = paragraph(this);
  code->setObjectName(QStringLiteral("recording-lines"));
  code->setWordWrap(false);
  code->setText(recording_lines());
  code->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  code->setMargin(8);
  code->setAutoFillBackground(true);
  code->setBackgroundRole(QPalette::Base);
  code->setMinimumWidth(1);  // a narrow window cuts the lines; the button copies them whole
  auto* copy = new QPushButton(tr("&Copy the lines"), this);
  copy->setObjectName(QStringLiteral("copy-lines"));
  connect(copy, &QPushButton::clicked, this,
          [] { QGuiApplication::clipboard()->setText(recording_lines() + QLatin1Char('\n')); });

  auto* area = new DropArea(this);
  area->setObjectName(QStringLiteral("drop-snapshot"));
  auto* hint = paragraph(area);
  hint->setText(
      tr("Drop snapshot.pickle here. Headroom reads the file and does not execute it. The page "
         "PyTorch memory shows the tensors that held the peak, and a limit that would have fitted."));
  auto* open = new QPushButton(tr("&Open files…"), area);
  open->setObjectName(QStringLiteral("open-snapshot"));
  auto* row = new QHBoxLayout(area);
  row->setContentsMargins(16, 14, 16, 14);
  row->addWidget(hint, 1);
  row->addWidget(open);
  connect(area, &DropArea::dropped, &workspace,
          [&workspace](const QStringList& files) { workspace.open(files); });
  connect(open, &QPushButton::clicked, this, &RecordBox::openAsked);

  auto* column = new QVBoxLayout(this);
  column->setContentsMargins({});
  column->addWidget(words);
  column->addWidget(code);
  column->addWidget(copy, 0, Qt::AlignLeft);
  column->addWidget(area);
}

}  // namespace headroom::gui
